"""What a probe found out, as a `[presets.NAME]` table: shown, or added to config.toml."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from claw.cli.config import parsed, text_of
from claw.cli.keys import KeySource
from claw.cli.places import write_private
from claw.errors import ConfigError
from claw.providers.presets import PRESETS
from claw.providers.probe import Report, changed

NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
NOT_A_NAME = ("api", "www", "llm", "ai")


def preset_name(wanted: str, base_url: str) -> str:
    """`wanted` if it can be a preset's name (else ConfigError); "" gets one from the URL."""
    if wanted and not NAME.fullmatch(wanted):
        raise ConfigError(f'--name "{wanted}" must be letters, digits, "-" and "_"')
    if wanted:
        return wanted
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in LOOPBACK:
        return f"local-{parts.port or 80}"
    if host.replace(".", "").isdigit():
        return host.replace(".", "-")
    labels = [label for label in host.split(".") if label not in NOT_A_NAME]
    return re.sub(r"[^A-Za-z0-9_-]", "-", labels[0] if labels else host)[:40]


def record_of(name: str, report: Report, source: KeySource, variable: str, key: str | None) -> str:
    """The table as TOML. `variable` is the one that the key came from, "" where there is none.

    A key_command that spells the key out isn't repeated: no output of claw holds a key.
    """
    return "".join(f"{line}\n" for line in _lines(name, report, source, variable, key))


def add_record(file: Path, name: str, record: str) -> None:
    """Adds the table to `file`, in one step, and changes nothing else in it.

    ConfigError where the name is taken, or where the file is no TOML that a table can be added to.
    """
    if name in PRESETS:
        raise ConfigError(f'claw has a preset "{name}" of its own: give another --name')
    file = file.resolve()  # a link to the user's collection of settings stays one
    before = text_of(file) or ""
    presets = parsed(file, before).get("presets")
    if isinstance(presets, dict) and name in presets:
        raise ConfigError(f"{file} has a [presets.{name}] already: give another --name")
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    after = before + gap + record
    try:
        parsed(file, after)
    except ConfigError as error:
        raise ConfigError(f"{file} has its presets in one line: add this one by hand") from error
    write_private(file, after)


def _lines(
    name: str, report: Report, source: KeySource, variable: str, key: str | None
) -> Iterator[str]:
    yield f"[presets.{name}]"
    yield f"base_url = {json.dumps(report.base_url)}"
    if report.dialect != "openai":
        yield f"dialect = {json.dumps(report.dialect)}"
    if variable:
        yield f"key_variable = {json.dumps(variable)}"
    elif source.command and key and key in source.command:
        yield "# add your key_command: it holds the key itself, so it isn't shown here"
    elif source.command:
        yield f"key_command = {json.dumps(source.command)}"
    if quirks := changed(report.quirks):
        yield ""
        yield f"[presets.{name}.quirks]"
        yield from (f"{quirk} = {json.dumps(value)}" for quirk, value in quirks.items())
