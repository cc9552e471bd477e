"""`claw doctor URL`: what a server speaks, as a table, and the preset that suits it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from claw.cancel import CancelToken
from claw.cli.config import read_config
from claw.cli.failures import USAGE, tell
from claw.cli.findings_table import table_row, table_width
from claw.cli.key_mask import KeyMask
from claw.cli.keys import fetch_key
from claw.cli.one_object import ended_early, show_object
from claw.cli.places import find_places
from claw.cli.preset_record import add_record, preset_name, record_of
from claw.cli.rich_terminal import painter_for
from claw.cli.settings import Flags, Settings, resolve
from claw.cli.streams import write_output
from claw.cli.terminal import Terminal
from claw.cli.turn import turn
from claw.cli.visible import visible
from claw.errors import Cancelled, ClawError, ConfigError
from claw.providers.endpoint import checked_base_url
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

    Returns 0 where claw can work with the server, 1 where it can't, 2 where the preset can't be
    written, 130 after a Ctrl-C.
    """
    token, found = CancelToken(), list[Finding]()
    given = KeyMask.of(os.environ)(url or flags.base_url)
    try:
        with turn(token, Terminal.of_process()):
            return _examined(flags, url, wishes, token, found)
    except (Cancelled, KeyboardInterrupt):
        if wishes.json:
            show_object(_told(_unfinished(given, found)), "cancelled")
        return ended_early(token)
    except ClawError as error:
        if wishes.json:
            show_object(_told(_unfinished(given, found)), "error", error)
        raise


def _examined(
    flags: Flags, url: str, wishes: Wishes, token: CancelToken, found: list[Finding]
) -> int:
    """`found` gets each finding when it is made, so that it outlives what breaks this off."""
    if url:
        url = checked_base_url(url)  # else it would be called --base-url
    places = find_places(os.environ)
    config = read_config(places.config_file)
    settings = resolve(replace(flags, base_url=url or flags.base_url), os.environ, config)
    name = preset_name(wishes.name, settings.base_url)
    key = fetch_key(settings.key, os.environ, settings.preset.name, token)
    mask = KeyMask.of(os.environ, config).among(settings.base_url)
    report = _probed(flags, settings, key, token, found, mask, as_json=wishes.json)
    variable = settings.key.variable(os.environ)
    if report.key_refused and not key:
        own = f"give [presets.{settings.preset.name}] a key_variable"
        tell(f"no key was sent: {settings.key.advice or own}")
    record = record_of(name, report, settings.key, variable, key)
    refused = _refusal(places.config_file, name, record, report) if wishes.write else None
    written = wishes.write and refused is None
    report = replace(report, base_url=mask(report.base_url), findings=tuple(found))
    if wishes.json:
        told = _told(report, name, mask(record), written=written)
        status = "error" if refused else "completed" if report.complete else "deadline"
        show_object(told, status, refused)
    elif report.usable:
        _explain(name, report, mask(record), str(places.config_file), written=written)
    if refused is not None:
        tell(refused.message)  # last: what was found isn't lost by it
        return USAGE
    return 0 if report.usable else 1


def _refusal(file: Path, name: str, record: str, report: Report) -> ConfigError | None:
    """Writes the preset; or why it can't be written."""
    if not report.usable:
        return ConfigError("nothing is written: this server can't be used as it is")
    try:
        add_record(file, name, record)
    except ConfigError as error:
        return error
    return None


def _probed(
    flags: Flags,
    settings: Settings,
    key: str | None,
    token: CancelToken,
    found: list[Finding],
    mask: KeyMask,
    *,
    as_json: bool,
) -> Report:
    target = Target(
        settings.base_url, key, flags.model, _dialects(settings.base_url, settings.preset.dialect)
    )
    paint = painter_for(sys.stdout, color=settings.color)
    width = table_width(1)

    def show(finding: Finding) -> None:
        finding = replace(finding, found=mask(finding.found))
        found.append(finding)
        if not as_json:
            write_output(table_row(finding, width, paint))

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
    write_output(visible(f"\n{what}\n{file}:\n\n{record}\nThen: {use}\n"))


def _unfinished(url: str, found: Sequence[Finding]) -> Report:
    return Report(url, complete=False, findings=tuple(found))


def _told(
    report: Report, name: str = "", record: str = "", *, written: bool = False
) -> dict[str, Any]:
    """For --json: the same fields always; the preset is null where none would work."""
    preset = {"preset": name, "record": record} if report.usable else {}
    return {**report.to_dict(), "preset": None, "record": None, **preset, "written": written}
