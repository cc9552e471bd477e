"""`claw doctor URL`: what a server speaks, as a table, and the preset that suits it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from claw.cancel import CancelToken
from claw.cli.config import read_config
from claw.cli.failures import tell
from claw.cli.findings_table import table_row, table_width
from claw.cli.keys import fetch_key
from claw.cli.places import find_places
from claw.cli.preset_record import add_record, preset_name, record_of
from claw.cli.rich_terminal import painter_for
from claw.cli.settings import Flags, Settings, resolve
from claw.cli.terminal import Terminal
from claw.cli.turn import turn
from claw.cli.visible import visible
from claw.errors import Cancelled, ConfigError, ProviderError
from claw.providers.presets import Dialect
from claw.providers.probe import Finding, Report, Target, probe
from claw.values import frozen

SECONDS = 30.0
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic")


@frozen
class Wishes:
    """The options of `claw doctor` itself."""

    name: str = ""
    write: bool = False
    json: bool = False


def examine(flags: Flags, url: str, wishes: Wishes) -> int:
    """Probes the server at `url` (or that of --provider, --base-url) and shows what it found.

    Returns 0 where claw can work with the server, 1 where it can't, 130 after a Ctrl-C.
    """
    places = find_places(os.environ)
    config = read_config(places.config_file)
    settings = resolve(replace(flags, base_url=url or flags.base_url), os.environ, config)
    name = preset_name(wishes.name, settings.base_url)
    token = CancelToken()
    with turn(token, Terminal.of_process()) as ending:
        try:
            report = _probed(flags, settings, token, as_json=wishes.json)
        except Cancelled:
            return ending.exit_code or 1
        except ProviderError as error:
            if wishes.json:
                _show({"base_url": settings.base_url, "usable": False, "error": error.to_dict()})
            raise
    variable = settings.key.variable(os.environ)
    if report.key_refused and not (variable or settings.key.command):
        tell(f"no key was sent: {settings.key.advice}")
    record = record_of(name, report, settings.key, variable)
    refused: ConfigError | None = None
    if wishes.write:
        try:
            _write(places.config_file, name, record, report)
        except ConfigError as error:
            refused = error  # told last: what was found isn't lost by it
    written = wishes.write and refused is None
    if wishes.json:
        told = {"preset": name, "record": record, "written": written}
        _show({**report.to_dict(), **(told if report.usable else {})})
    elif report.usable:
        _explain(name, report, record, str(places.config_file), written=written)
    if refused is not None:
        raise refused
    return 0 if report.usable else 1


def _write(file: Path, name: str, record: str, report: Report) -> None:
    if not report.usable:
        raise ConfigError("nothing is written: this server can't be used as it is")
    add_record(file, name, record)


def _probed(flags: Flags, settings: Settings, token: CancelToken, *, as_json: bool) -> Report:
    key = fetch_key(settings.key, os.environ, settings.preset.name, token)
    target = Target(
        settings.base_url, key, flags.model, _dialects(settings.base_url, settings.preset.dialect)
    )
    paint = painter_for(sys.stdout, color=settings.color)
    width = table_width(1)

    def show(finding: Finding) -> None:
        if not as_json:
            sys.stdout.write(table_row(finding, width, paint))
            sys.stdout.flush()

    with token.child(flags.timeout or SECONDS) as limit:
        return probe(target, limit, show)


def _dialects(base_url: str, known: Dialect) -> tuple[Dialect, ...]:
    """The likeliest first: each wrong try costs a question or two."""
    first: Dialect = "anthropic" if "anthropic" in base_url.lower() else known
    return (first, *(each for each in DIALECTS if each != first))


def _explain(name: str, report: Report, record: str, file: str, *, written: bool) -> None:
    """What to do with the record, and how to use it then."""
    what = "There is a new preset in" if written else "To use it, add this preset (--write does) to"
    use = f"claw --provider {name} --model {shlex.quote(report.model)}"
    sys.stdout.write(visible(f"\n{what}\n{file}:\n\n{record}\nThen: {use}\n"))


def _show(told: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
