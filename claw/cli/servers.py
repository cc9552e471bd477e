"""Which server a name means: its preset, its URL, and where its key may come from."""

from __future__ import annotations

from collections.abc import Mapping

from claw.cli.config import PresetTable, UserConfig, nearest
from claw.cli.keys import GENERAL_VARIABLE, KeySource
from claw.errors import ConfigError
from claw.providers.presets import PRESETS, Preset
from claw.values import frozen

DEMO = "demo"  # looks like a provider's name, and is a command


@frozen
class Setting:
    """A value and where it came from, in the user's words; "" is "not set"."""

    value: str = ""
    source: str = ""


@frozen
class Server:
    """A model and all that is needed to ask it, but the key itself."""

    preset: Preset
    model: str
    base_url: str
    key: KeySource

    @property
    def name(self) -> str:
        """As the user writes it behind --fallback."""
        return f"{self.preset.name}:{self.model}"


def preset_tables(config: UserConfig) -> dict[str, PresetTable]:
    """All presets by name: claw's own, in their order, with the user's in their place or after."""
    return {name: PresetTable(preset) for name, preset in PRESETS.items()} | dict(config.presets)


def preset_named(wanted: Setting, tables: Mapping[str, PresetTable]) -> PresetTable:
    """The preset of that name, or ConfigError with the nearest one."""
    if wanted.value == DEMO and DEMO not in tables:
        raise ConfigError(
            f"{wanted.source}: the demo's scripted model plays its own task alone: run `claw demo`"
        )
    if wanted.value not in tables:
        hint = nearest(wanted.value, tables) or f"; known: {', '.join(tables)}"
        raise ConfigError(f'{wanted.source}: no provider is named "{wanted.value}"{hint}')
    return tables[wanted.value]


def url_and_key(
    url: Setting,
    table: PresetTable,
    environ: Mapping[str, str],
    config: UserConfig,
    *,
    named: bool,
) -> tuple[Setting, KeySource]:
    """The URL and the key that may go there: the table at the top of claw.cli.keys.

    named: the user chose the preset by its name; nobody deduced it from a variable.
    """
    preset = table.preset
    if url.value:
        command = config.key_command if url.source == "config.toml" else ""
        return url, KeySource(command=command)
    own = (preset.key_variable,) if preset.key_variable else ()
    if table.own_url:
        if not preset.base_url:
            raise ConfigError(f"[presets.{preset.name}] in config.toml needs a base_url")
        source = KeySource(own, table.key_command, required=bool(own))
        return Setting(preset.base_url, f"[presets.{preset.name}]"), source
    if not preset.base_url:
        raise ConfigError(f'provider "{preset.name}" needs a URL: give --base-url URL')
    moved = environ.get(preset.url_variable, "") if preset.url_variable else ""
    required = bool(own) and not moved
    general = (GENERAL_VARIABLE,) if named else ()  # else it may be any other maker's
    source = KeySource((*general, *own), table.key_command, required=required)
    if moved:
        return Setting(moved, preset.url_variable), source
    return Setting(preset.base_url, f"preset {preset.name}"), source


def fallback(wish: Setting, environ: Mapping[str, str], config: UserConfig) -> Server:
    """The server of a `PRESET:MODEL`, resolved as its preset alone: CLAW_API_KEY and the settings
    of the chosen server have nothing to do with it. ConfigError says what to write instead."""
    name, _, model = wish.value.partition(":")
    if not (name and model):
        raise ConfigError(
            f'{wish.source}: "{wish.value}" isn\'t PRESET:MODEL, like deepseek:deepseek-chat'
        )
    table = preset_named(Setting(name, wish.source), preset_tables(config))
    if not table.preset.base_url:
        raise ConfigError(
            f"{wish.source}: {name} has no URL; give it one in [presets.NAME] of config.toml, "
            "and name that"
        )
    url, key = url_and_key(Setting(), table, environ, config, named=False)
    return Server(table.preset, model, checked_url(url), key)


def checked_url(url: Setting) -> str:
    """The URL without a final slash; ConfigError, with its source, where it can't be used."""
    from claw.providers.endpoint import checked_base_url

    try:
        return checked_base_url(url.value)
    except ConfigError as error:
        raise ConfigError(f"{url.source}: {error.message}") from error
