"""The user's own tools: `tools = ["package:function"]` in config.toml."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from claw.errors import ConfigError
from claw.tools.base import Tool, tool


def load_tools(names: Iterable[str]) -> list[Tool]:
    """The tools behind "package.module:name": a Tool, or a typed function that becomes one.

    ConfigError, in one line with the entry, for whatever goes wrong with it. Only ever called with
    names from the user's own configuration: it runs code.
    """
    return [_load(name) for name in names]


def _load(name: str) -> Tool:
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise ConfigError(f'tools: "{name}" must be written "package.module:function"')
    try:
        found = getattr(import_module(module_name), attribute)
        return found if isinstance(found, Tool) else tool(found)
    except Exception as error:  # the module's own code runs here
        raise ConfigError(
            f'tools: "{name}" can\'t be used: {type(error).__name__}: {error}'
        ) from error
