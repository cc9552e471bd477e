"""`claw config show` and `claw config path`."""

from __future__ import annotations

import os

from claw.cli.config import read_config
from claw.cli.failures import tell
from claw.cli.held_signals import let_signals_through
from claw.cli.instructions import read_instructions
from claw.cli.key_mask import KeyMask
from claw.cli.places import find_places
from claw.cli.settings import Flags, Settings, resolve_as_far
from claw.cli.streams import write_output
from claw.cli.trust import TrustedFolders
from claw.cli.user_tools import parts_of
from claw.cli.visible import visible
from claw.errors import ConfigError


def show_path() -> int:
    """Prints where config.toml is looked for, whether it is there or not."""
    let_signals_through()
    write_output(visible(f"{find_places(os.environ).config_file}\n"))
    return 0


def show_settings(flags: Flags) -> int:
    """Prints a setting a line: name, value, where it comes from. Asks nobody, runs nothing.

    ConfigError for a value that can't be used, also where no server is set.
    """
    let_signals_through()
    places = find_places(os.environ)
    config = read_config(places.config_file)
    mask = KeyMask.of(os.environ, config)
    for warning in config.warnings:
        tell(mask(warning))
    try:
        settings = resolve_as_far(flags, os.environ, config)
        for name in settings.tools:
            parts_of(name)
    except ConfigError as error:
        raise ConfigError(mask(error.message)) from error
    presence = "" if config.exists else "(there is none)"
    rows = [("config file", str(config.file), presence), ("state", str(places.state), "")]
    rows += _rows(settings, mask)
    folders = TrustedFolders(places.trust_file)
    trusted = folders.answer(settings.cwd) is True
    instructions = read_instructions(
        settings.cwd, places.config, trusted=trusted, answer=folders.answer
    )
    rows += [(name, mask(file), about) for name, file, about in instructions.rows()]
    write_output("".join(_line(*row) for row in rows))
    return 0


def _line(name: str, value: str, source: str) -> str:
    return visible(f"{name:<12}  {value:<36}  {source}".rstrip()) + "\n"


def _rows(settings: Settings, mask: KeyMask) -> list[tuple[str, str, str]]:
    return [
        *_server_rows(settings, mask),
        ("effort", settings.effort or "the model's own", ""),
        *(
            (
                "fallback",
                mask(f"{each.name} at {each.base_url}"),
                f"key {each.key.where(os.environ)}",
            )
            for each in settings.fallbacks
        ),
        ("folder", mask(str(settings.cwd)), ""),
        ("approve", settings.approve, ""),
        *(("allow", mask(" ".join(rule)), "") for rule in settings.allow),
        *(("deny", mask(" ".join(rule)), "") for rule in settings.deny),
        ("sandbox", settings.sandbox, "with network" if settings.net else ""),
        *(("add_dir", mask(str(folder)), "") for folder in settings.add_dirs),
        ("max_steps", str(settings.max_steps), ""),
        ("timeout", "none" if settings.timeout is None else f"{settings.timeout:g} s", ""),
        ("budget", str(settings.budget or "none"), ""),
        *_price_rows(settings, mask),
        *(("tool", mask(name), "config.toml") for name in settings.tools),
    ]


def _server_rows(settings: Settings, mask: KeyMask) -> list[tuple[str, str, str]]:
    sources = settings.sources
    model = ("model", mask(settings.model) or "not set", sources["model"])
    if not settings.base_url:
        return [("provider", "not set", "`claw` says how to begin"), model]
    return [
        ("provider", settings.preset.name, sources["provider"]),
        model,
        ("base_url", mask(settings.base_url), sources["base_url"]),
        ("key", settings.key.where(os.environ), ""),
    ]


def _price_rows(settings: Settings, mask: KeyMask) -> list[tuple[str, str, str]]:
    """What each model costs, by the table or by the user's own word."""
    rows = []
    for name, price in settings.prices.models:
        told = "not known" if price is None else f"${price.input:g} in, ${price.output:g} out"
        own = "config.toml" if name in settings.own_prices else ""
        rows.append(("price", mask(f"{name}: {told}"), own))
    return rows if settings.model else []
