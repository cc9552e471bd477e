"""`claw config show` and `claw config path`."""

from __future__ import annotations

import os

import click

from claw.cli.config import UserConfig, read_config
from claw.cli.failures import tell
from claw.cli.places import find_places
from claw.cli.settings import Flags, NothingSet, Settings, resolve
from claw.cli.visible import visible


def show_path() -> int:
    """Prints where config.toml is looked for, whether it is there or not."""
    click.echo(visible(str(find_places(os.environ).config_file)))
    return 0


def show_settings(flags: Flags) -> int:
    """Prints a setting a line: name, value, where it comes from. Asks nobody, runs nothing."""
    places = find_places(os.environ)
    config = read_config(places.config_file)
    for warning in config.warnings:
        tell(warning)
    presence = "" if config.exists else "(there is none)"
    rows = [("config file", str(config.file), presence), ("state", str(places.state), "")]
    try:
        rows += _rows(resolve(flags, os.environ, config), config)
    except NothingSet:
        rows.append(("provider", "not set", "`claw` says how to begin"))
    for name, value, source in rows:
        click.echo(visible(f"{name:<12}  {value:<36}  {source}".rstrip()))
    return 0


def _rows(settings: Settings, config: UserConfig) -> list[tuple[str, str, str]]:
    timeout = "none" if settings.timeout is None else f"{settings.timeout:g} s"
    sources = settings.sources
    return [
        ("provider", settings.preset.name, sources["provider"]),
        ("model", settings.model or "not set", sources["model"]),
        ("base_url", settings.base_url, sources["base_url"]),
        ("key", settings.key.where(os.environ), ""),
        ("effort", settings.effort or "the model's own", ""),
        *(
            ("fallback", f"{each.name} at {each.base_url}", f"key {each.key.where(os.environ)}")
            for each in settings.fallbacks
        ),
        ("folder", str(settings.cwd), ""),
        ("approve", settings.approve, ""),
        *(("allow", " ".join(rule), "") for rule in settings.allow),
        *(("deny", " ".join(rule), "") for rule in settings.deny),
        ("sandbox", settings.sandbox, "with network" if settings.net else ""),
        *(("add_dir", str(folder), "") for folder in settings.add_dirs),
        ("max_steps", str(settings.max_steps), ""),
        ("timeout", timeout, ""),
        ("budget", str(settings.budget or "none"), ""),
        *_price_rows(settings),
        *(("tool", name, "config.toml") for name in config.tools),
    ]


def _price_rows(settings: Settings) -> list[tuple[str, str, str]]:
    """What each model costs, by the table or by the user's own word."""
    rows = []
    for name, price in settings.prices.models:
        told = "not known" if price is None else f"${price.input:g} in, ${price.output:g} out"
        own = "config.toml" if name in settings.own_prices else ""
        rows.append(("price", f"{name}: {told}", own))
    return rows if settings.model else []
