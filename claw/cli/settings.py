"""Settings: flags over environment over config.toml over preset, each with where it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from claw.cli.config import PresetTable, UserConfig
from claw.cli.keys import KeySource
from claw.cli.places import user_path
from claw.cli.prices import prices_of
from claw.cli.servers import (
    Server,
    Setting,
    checked_url,
    fallback,
    preset_named,
    preset_tables,
    url_and_key,
)
from claw.errors import ConfigError
from claw.pricing import Budget, Price, PriceList, parse_budget
from claw.providers.presets import GENERIC, Preset
from claw.values import frozen

DEFAULT_MAX_STEPS = 50
LONGEST_TIMEOUT = 10_000_000.0  # seconds; a lock can't wait much longer


@frozen
class Flags:
    """What was given on the command line; None and "" are "not given"."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    cwd: str = ""
    approve: str = ""
    sandbox: str = ""
    net: bool | None = None
    add_dirs: tuple[str, ...] = ()
    effort: str = ""
    fallback: tuple[str, ...] = ()
    stay_local: bool = False  # of the fallbacks only --fallback counts, not config.toml's
    max_steps: int | None = None
    timeout: float | None = None
    max_output_tokens: int | None = None
    budget: str = ""
    go_on: bool = False
    resume: str = ""
    no_session: bool = False
    system_file: str = ""
    trace: str = ""
    replay: str = ""
    log_file: str = ""
    output: str = "text"
    verbose: bool = False
    quiet: bool = False
    no_color: bool = False


@frozen
class Settings:
    """All that a run needs to know but the key itself. `sources` tells where a value came from."""

    preset: Preset
    model: str
    base_url: str
    key: KeySource
    cwd: Path
    approve: str = "ask"
    allow: tuple[tuple[str, ...], ...] = ()
    deny: tuple[tuple[str, ...], ...] = ()
    sandbox: str = "auto"
    net: bool = False
    add_dirs: tuple[Path, ...] = ()
    effort: str = ""
    fallbacks: tuple[Server, ...] = ()
    max_steps: int = DEFAULT_MAX_STEPS
    timeout: float | None = None
    max_output_tokens: int | None = None
    budget: Budget | None = None
    own_prices: Mapping[str, Price] = field(default_factory=dict)
    system_file: str = ""
    tools: tuple[str, ...] = ()
    verbose: bool = False
    quiet: bool = False
    color: bool = True
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def server(self) -> Server:
        """The chosen server, without the fallbacks."""
        return Server(self.preset, self.model, self.base_url, self.key)

    @property
    def prices(self) -> PriceList:
        """What the models cost that may answer."""
        return prices_of((self.server, *self.fallbacks), self.own_prices)


class NothingSet(ConfigError):
    """Neither provider, nor URL, nor a maker's key: nobody to ask. The command offers help."""

    kind = "nothing_set"


def resolve(flags: Flags, environ: Mapping[str, str], config: UserConfig) -> Settings:
    """The settings in force. NothingSet where no server is named, else ConfigError with the fix.

    The model may still be missing ("": `need_model` says so), so that `config show` can show it.
    """
    chosen = _chosen(flags.provider, environ.get("CLAW_PROVIDER"), config.provider, "PROVIDER")
    url = _chosen(flags.base_url, environ.get("CLAW_BASE_URL"), config.base_url, "BASE_URL")
    table, found = _preset(chosen, url, environ, config)
    url, key = url_and_key(url, table, environ, config, named=bool(chosen.value))
    settings = _without_server(flags, environ, config)
    return replace(
        settings,
        preset=table.preset,
        base_url=checked_url(url),
        key=key,
        sources={**settings.sources, "provider": found, "base_url": url.source},
    )


def resolve_as_far(flags: Flags, environ: Mapping[str, str], config: UserConfig) -> Settings:
    """As `resolve`, to be looked at: where no server is named its URL is "", and the rest is there
    and checked all the same."""
    try:
        return resolve(flags, environ, config)
    except NothingSet:
        return _without_server(flags, environ, config)


def _without_server(flags: Flags, environ: Mapping[str, str], config: UserConfig) -> Settings:
    model = _chosen(flags.model, environ.get("CLAW_MODEL"), config.model, "MODEL")
    where = "--add-dir" if flags.add_dirs else f"{config.file}: sandbox.add_dirs:"
    add_dirs = flags.add_dirs or config.add_dirs
    return Settings(
        preset=GENERIC,
        model=model.value,
        base_url="",
        key=KeySource(),
        cwd=_folder(flags.cwd, "--cwd"),
        approve=flags.approve or config.approve or "ask",
        allow=_rules(config.allow),
        deny=_rules(config.deny),
        sandbox=flags.sandbox or config.sandbox or "auto",
        net=config.net if flags.net is None else flags.net,
        add_dirs=tuple(_folder(name, where) for name in add_dirs),
        effort=flags.effort or config.effort,
        fallbacks=tuple(fallback(wish, environ, config) for wish in _fallbacks(flags, config)),
        max_steps=flags.max_steps or config.max_steps or DEFAULT_MAX_STEPS,
        timeout=_seconds(flags.timeout or config.timeout),
        max_output_tokens=flags.max_output_tokens,
        budget=parse_budget(flags.budget, "--budget") if flags.budget else config.budget,
        own_prices=config.prices,
        system_file=flags.system_file,
        tools=config.tools,
        verbose=flags.verbose,
        quiet=flags.quiet,
        color=wants_color(flags, environ),
        sources={"model": model.source},
    )


def wants_color(flags: Flags, environ: Mapping[str, str]) -> bool:
    """Colours unless the user refuses them; whether there is a terminal isn't looked at here."""
    return not (flags.no_color or environ.get("NO_COLOR"))


def need_model(settings: Settings) -> None:
    """ConfigError where no model is set: claw picks none, since names and prices change."""
    if not settings.model:
        raise ConfigError(
            f"no model is set for {settings.preset.name}: give --model NAME, set CLAW_MODEL, "
            "or write `model` into config.toml"
        )


def _chosen(flag: str, variable: str | None, in_file: str, name: str) -> Setting:
    if flag:
        return Setting(flag, "--" + name.lower().replace("_", "-"))
    if variable:
        return Setting(variable, f"CLAW_{name}")
    return Setting(in_file, "config.toml") if in_file else Setting()


def _fallbacks(flags: Flags, config: UserConfig) -> list[Setting]:
    """Those of the command line take the place of the file's."""
    if flags.fallback:
        return [Setting(value, "--fallback") for value in flags.fallback]
    if flags.stay_local:
        return []
    return [Setting(value, f"{config.file}: fallback") for value in config.fallback]


def _preset(
    chosen: Setting, url: Setting, environ: Mapping[str, str], config: UserConfig
) -> tuple[PresetTable, str]:
    """(the preset, where it came from). Without a name: the URL's, else the first maker whose
    variables are set."""
    tables = preset_tables(config)
    if chosen.value:
        return preset_named(chosen, tables), chosen.source
    if url.value:
        return tables[GENERIC.name], url.source
    for table in tables.values():
        for variable in (table.preset.key_variable, table.preset.url_variable):
            if variable and environ.get(variable):
                return table, variable
    raise NothingSet("no model server is set")


def _seconds(timeout: float | None) -> float | None:
    if timeout is not None and not timeout <= LONGEST_TIMEOUT:  # so a NaN is refused as well
        raise ConfigError(f"the timeout can be {LONGEST_TIMEOUT:.0f} seconds at most")
    return timeout


def _rules(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    if not texts:
        return ()
    from claw.policy import rule_of  # the grammar takes 20 ms, which most users needn't pay

    return tuple(map(rule_of, texts))


def _folder(name: str, where: str) -> Path:
    folder = user_path(name or os.curdir, f"{where} ")
    try:
        real = folder.resolve(strict=True)
    except OSError as error:
        raise ConfigError(f"{where} {name}: there is no such folder") from error
    if not real.is_dir():
        raise ConfigError(f"{where} {name}: this is a file; give a folder")
    return real
