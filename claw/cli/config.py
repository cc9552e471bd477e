"""config.toml: what the user wrote there, checked, as one frozen value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

from claw.cli.places import read_plain
from claw.errors import ConfigError
from claw.modes import APPROVAL_MODES, SANDBOX_MODES
from claw.pricing import Budget, Price, parse_budget
from claw.providers.effort import LEVELS, STYLE_OF_DIALECT, STYLES
from claw.providers.presets import PRESETS, Preset
from claw.providers.quirks import NO_QUIRKS, Quirks
from claw.values import frozen


class Amount(float):
    """The kind of a number that may be 0."""


FILE_BYTES = 1_000_000
BYTE_ORDER_MARK = "\ufeff"  # some editors write one

Kind: TypeAlias = type | tuple[str, ...]
"""What a setting may hold: a value of a type, or one of these texts."""

KINDS: Mapping[type, str] = {
    str: "a text in quotes",
    int: "a whole number over 0",
    float: "a number over 0",
    Amount: "a number, 0 or more",
    bool: "true or false",
    list: "a list of texts",
    dict: "a table",
}

TOP: Mapping[str, Kind] = {
    "provider": str,
    "model": str,
    "base_url": str,
    "key_command": str,
    "effort": LEVELS,
    "fallback": list,
    "tools": list,
    "approvals": dict,
    "sandbox": dict,
    "limits": dict,
    "presets": dict,
    "prices": dict,
}
APPROVALS: Mapping[str, Kind] = {
    "mode": APPROVAL_MODES,
    "allow": list,
    "deny": list,
}
SANDBOX: Mapping[str, Kind] = {
    "mode": SANDBOX_MODES,
    "net": bool,
    "add_dirs": list,
}
LIMITS: Mapping[str, Kind] = {"max_steps": int, "timeout": float, "budget": str}
PRESET: Mapping[str, Kind] = {
    "base_url": str,
    "key_variable": str,
    "key_command": str,
    "dialect": tuple(STYLE_OF_DIALECT),
    "context_window": int,
    "quirks": dict,
}
QUIRKS: Mapping[str, Kind] = {
    **{each.name: type(each.default) for each in fields(Quirks)},
    "effort": tuple(STYLES),
    "max_tokens_field": ("max_tokens", "max_completion_tokens"),
}
PRICE: Mapping[str, Kind] = dict.fromkeys(("input", "output", "cached", "cache_write"), Amount)


@frozen
class PresetTable:
    """One `[presets.NAME]`. `own_url`: it names a URL, so no other maker's key goes there."""

    preset: Preset
    key_command: str = ""
    own_url: bool = False


@frozen
class UserConfig:
    """The user's settings; "" and None are "not set". `warnings` are lines to tell."""

    file: Path
    exists: bool = False
    provider: str = ""
    model: str = ""
    base_url: str = ""
    key_command: str = ""
    effort: str = ""
    fallback: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    approve: str = ""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    sandbox: str = ""
    net: bool = False
    add_dirs: tuple[str, ...] = ()
    max_steps: int | None = None
    timeout: float | None = None
    budget: Budget | None = None
    presets: Mapping[str, PresetTable] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_config(file: Path) -> UserConfig:
    """The settings in `file`; empty ones where there is no such file.

    ConfigError, with the place, for a file that can't be read, isn't TOML, or holds a value of
    the wrong kind. A name it doesn't know is a warning.
    """
    text = text_of(file)
    return UserConfig(file) if text is None else _checked(file, parsed(file, text))


def text_of(file: Path) -> str | None:
    """What stands in `file`, None where there is no such file; ConfigError as in `read_config`."""
    try:
        return read_plain(file, FILE_BYTES).decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{file} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} isn't valid TOML: {error}") from error


def parsed(file: Path, text: str) -> dict[str, Any]:
    """`text`, which stands in `file`, as TOML; ConfigError, with the line, where it is none."""
    import tomllib  # 4 ms, which a user without settings needn't pay

    try:
        return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except ValueError as error:
        raise ConfigError(f"{file} isn't valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{file} can't be read: it is nested too deep") from error


def _checked(file: Path, data: Mapping[str, Any]) -> UserConfig:
    reader = _Reader(file)
    top = reader.table(data, TOP)
    approvals = reader.table(top.get("approvals", {}), APPROVALS, "approvals")
    sandbox = reader.table(top.get("sandbox", {}), SANDBOX, "sandbox")
    limits = reader.table(top.get("limits", {}), LIMITS, "limits")
    presets = {name: _preset(reader, name, table) for name, table in top.get("presets", {}).items()}
    plain = {
        key: top[key]
        for key in ("provider", "model", "base_url", "key_command", "effort")
        if key in top
    }
    return UserConfig(
        file,
        exists=True,
        **plain,
        fallback=tuple(top.get("fallback", ())),
        tools=tuple(top.get("tools", ())),
        approve=approvals.get("mode", ""),
        allow=tuple(approvals.get("allow", ())),
        deny=tuple(approvals.get("deny", ())),
        sandbox=sandbox.get("mode", ""),
        net=sandbox.get("net", False),
        add_dirs=tuple(sandbox.get("add_dirs", ())),
        max_steps=limits.get("max_steps"),
        timeout=limits.get("timeout"),
        budget=_budget(reader, limits.get("budget", "")),
        presets=presets,
        prices={name: _price(reader, name, data) for name, data in top.get("prices", {}).items()},
        warnings=tuple(reader.warnings),
    )


def _preset(reader: _Reader, name: str, data: Any) -> PresetTable:
    """A table may name a new server, move a known one, or say more about it: how its key is had,
    its quirks."""
    table = reader.table(data, PRESET, f"presets.{name}")
    quirks = reader.table(table.get("quirks", {}), QUIRKS, f"presets.{name}.quirks")
    known = PRESETS.get(name, Preset(name, ""))
    own_url = "base_url" in table or name not in PRESETS
    if own_url:  # nobody's variables but those that the table names
        known = Preset(name, table.get("base_url", ""), dialect=known.dialect, quirks=known.quirks)
    dialect = table.get("dialect", known.dialect)
    preset = replace(
        known,
        key_variable=table.get("key_variable", known.key_variable),
        dialect=dialect,
        context_window=table.get("context_window", known.context_window),
        quirks=replace(known.quirks if dialect == known.dialect else NO_QUIRKS, **quirks),
    )
    return PresetTable(preset, table.get("key_command", ""), own_url)


def _budget(reader: _Reader, words: str) -> Budget | None:
    return parse_budget(words, f"{reader.file}: limits.budget") if words else None


def _price(reader: _Reader, name: str, data: Any) -> Price:
    """In US dollars per million tokens."""
    table = reader.table(data, PRICE, f"prices.{name}")
    if not {"input", "output"} <= table.keys():
        raise ConfigError(
            f"{reader.file}: prices.{name} needs `input` and `output`, in dollars per million "
            'tokens; a name with a dot goes in quotes: [prices."gpt-4.1"]'
        )
    return Price(**table)


class _Reader:
    """Checks tables against their known names, and gathers the warnings."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.warnings: list[str] = []

    def table(self, data: Any, known: Mapping[str, Kind], where: str = "") -> dict[str, Any]:
        """The known entries of `data`, each of its kind."""
        prefix = f"{where}." if where else ""
        if not isinstance(data, dict):
            raise ConfigError(f"{self.file}: {where} must be a table, written [{where}]")
        for name in data:
            if name not in known:
                hint = nearest(name, known)
                self.warnings.append(f"{self.file}: unknown setting {prefix}{name}{hint}; ignored")
        entries = {name: value for name, value in data.items() if name in known}
        for name, value in entries.items():
            if not _is(value, known[name]):
                raise ConfigError(f"{self.file}: {prefix}{name} must be {_words(known[name])}")
        return entries


def _words(kind: Kind) -> str:
    if isinstance(kind, tuple):
        return "one of " + ", ".join(f'"{each}"' for each in kind)
    return KINDS[kind]


def _is(value: Any, kind: Kind) -> bool:
    if isinstance(kind, tuple):
        return value in kind
    if kind is list:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if kind is Amount:
        return type(value) in (int, float) and 0 <= value < math.inf
    if kind in (int, float):
        numbers = (int,) if kind is int else (int, float)
        return isinstance(value, numbers) and not isinstance(value, bool) and value > 0
    return isinstance(value, kind)


def nearest(word: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)` for a mistyped name; "" when nothing is near."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1)
    return f' (did you mean "{found[0]}"?)' if found else ""
