"""The user's own tools: `tools = ["package:function"]` in config.toml."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, cast

from claw.errors import ConfigError
from claw.providers.server_errors import one_line
from claw.tools.base import Tool, tool


def load_tools(names: Iterable[str]) -> list[Tool]:
    """The tools behind "package.module:name": a Tool, or a typed function that becomes one.

    ConfigError, in one line with the entry, for whatever goes wrong with it. Only ever called with
    names from the user's own configuration: it runs code.
    """
    return [_load(name) for name in names]


def _load(name: str) -> Tool:
    module_name, attribute = parts_of(name)
    try:
        found = getattr(import_module(module_name), attribute)
        return found if isinstance(found, Tool) else tool(_function(found))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the module's own code runs here, which may even exit
        words = one_line(f"{type(error).__name__}: {error}")
        raise ConfigError(f'tools: "{name}" can\'t be used: {words}') from error


def parts_of(name: str) -> tuple[str, str]:
    """The module and the name in it; ConfigError where the entry isn't written so. Runs nothing."""
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise ConfigError(f'tools: "{name}" must be written "package.module:function"')
    return module_name, attribute


def _function(found: Any) -> Callable[..., Any]:
    """`found` if a tool can be made of it. The error names its type alone: what is in it may be
    as secret as the environment."""
    if not (callable(found) and hasattr(found, "__name__")):
        raise TypeError(f"a {type(found).__name__} is neither a function nor a Tool")
    return cast(Callable[..., Any], found)
