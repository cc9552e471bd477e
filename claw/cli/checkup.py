"""`claw doctor` without a URL: what there is on this machine to work with."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from claw.cancel import CancelToken
from claw.cli.config import UserConfig, read_config
from claw.cli.findings_table import table_row, table_width
from claw.cli.first_run import local_servers
from claw.cli.held_signals import let_signals_through
from claw.cli.key_mask import KeyMask, key_variables
from claw.cli.one_object import ended_early, show_object
from claw.cli.places import Places, find_places
from claw.cli.rich_terminal import painter_for
from claw.cli.servers import preset_tables
from claw.cli.settings import Flags, resolve_as_far, wants_color
from claw.cli.streams import write_output
from claw.errors import ConfigError
from claw.providers.probe.findings import Finding, Verdict

OK, FAULT, ABSENT = Verdict.OK, Verdict.FAULT, Verdict.ABSENT

NEEDED = ("requests", "urllib3", "click", "jsonschema", "tree-sitter", "tree-sitter-bash")
FOR_THE_TERMINAL = ("rich", "prompt_toolkit")
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


def check_up(flags: Flags, *, as_json: bool = False, wants_server: bool = False) -> int:
    """Prints a line for each thing; asks nobody but this machine's own servers. Returns 0, or 1
    where something is broken.

    wants_server: an option was given that goes with a server only, which is a ConfigError.
    """
    token, findings = CancelToken(), list[Finding]()
    paint = painter_for(sys.stdout, color=wants_color(flags, os.environ))
    width = table_width(1)
    try:
        let_signals_through()
        if wants_server:
            raise ConfigError("--write, --name and --model go with a URL or --provider")
        for finding in _findings(flags, os.environ):
            findings.append(finding)
            if not as_json:
                write_output(table_row(finding, width, paint))
    except ConfigError as error:
        if as_json:
            show_object(_told(findings), "error", error)
        raise
    except KeyboardInterrupt:
        if as_json:
            show_object(_told(findings), "cancelled")
        return ended_early(token)
    if as_json:
        show_object(_told(findings))
    return int(any(finding.verdict is FAULT for finding in findings))


def _told(findings: Sequence[Finding]) -> dict[str, object]:
    return {"findings": [finding.to_dict() for finding in findings]}


def _findings(flags: Flags, environ: Mapping[str, str]) -> Iterator[Finding]:
    yield from _versions()
    places = find_places(environ)
    config = UserConfig(places.config_file)
    try:
        config = read_config(places.config_file)
    except ConfigError as error:
        yield Finding("config file", error.message, FAULT)
    else:
        yield from _config_file(config)
    yield _state(places)
    yield _in_force(flags, environ, config)
    yield from _keys(environ, config)
    yield from _servers(config)
    yield from _network(environ)
    yield from _terminal(flags, environ)
    yield from _sandbox(environ)


def _versions() -> Iterator[Finding]:
    yield Finding("claw", f"{_version('claw-engine')}, {platform.platform(terse=True)}")
    yield Finding("Python", f"{platform.python_version()} ({sys.executable})")
    parts = [f"{name} {_version(name)}" for name in NEEDED]
    yield Finding("parts", ", ".join(parts), FAULT if any("missing" in p for p in parts) else OK)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _config_file(config: UserConfig) -> Iterator[Finding]:
    yield Finding("config file", str(config.file), OK if config.exists else ABSENT)
    yield from (Finding("config file", warning, FAULT) for warning in config.warnings)


def _state(places: Places) -> Finding:
    """The folder with what claw remembers; the nearest folder that is there must be writable."""
    folders = (places.state, *places.state.parents)
    there = next(folder for folder in folders if os.path.exists(folder))
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding("state", f"{places.state}: {there} can't be written", FAULT)
    return Finding("state", str(places.state), OK if there == places.state else ABSENT)


def _in_force(flags: Flags, environ: Mapping[str, str], config: UserConfig) -> Finding:
    mask = KeyMask.of(environ, config)
    try:
        settings = resolve_as_far(flags, environ, config)
    except ConfigError as error:
        return Finding("server", mask(error.message), FAULT)
    if not settings.base_url:
        return Finding("server", "none is set; `claw` says how to begin", ABSENT)
    model = mask(settings.model) or "no model set"
    return Finding("server", f"{settings.preset.name} at {mask(settings.base_url)}, {model}")


def _keys(environ: Mapping[str, str], config: UserConfig) -> Iterator[Finding]:
    """The variables by name. A value is never shown, not even a part of it."""
    names = key_variables(config)
    yield from (Finding("key", f"{name} is set") for name in names if environ.get(name))
    if missing := [name for name in names if not environ.get(name)]:
        yield Finding("keys", f"not set: {', '.join(missing)}", ABSENT)
    for name, table in config.presets.items():
        if table.key_command:
            yield Finding("key", f"[presets.{name}] has a key_command (not run here)")


def _servers(config: UserConfig) -> Iterator[Finding]:
    presets = [table.preset for table in preset_tables(config).values() if table.preset.local]
    running = {server.preset.name: server for server in local_servers(presets)}
    for preset in presets:
        if server := running.get(preset.name):
            models = f"{len(server.models)} models, the first is {server.model}"
            found = f"{preset.base_url}: {models if server.models else 'no models'}"
            yield Finding(preset.name, found)
        else:
            yield Finding(preset.name, preset.base_url, ABSENT)


def _network(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Proxies may hold a password, so only their names are told."""
    proxies = [name for name in PROXIES if environ.get(name) or environ.get(name.lower())]
    if proxies:
        yield Finding("proxy", f"set by {', '.join(proxies)}")
    for name in CERTIFICATES:
        if path := environ.get(name):
            yield Finding("certificates", f"{name}: {path}", OK if os.path.exists(path) else FAULT)
            return


def _terminal(flags: Flags, environ: Mapping[str, str]) -> Iterator[Finding]:
    streams = [os.isatty(descriptor) for descriptor in range(3)]
    if all(streams):
        size = os.get_terminal_size(1)
        found = f"{environ.get('TERM', 'TERM is not set')}, {size.columns} x {size.lines}"
        yield Finding("terminal", found)
    else:
        names = [
            name
            for name, tty in zip(("input", "output", "errors"), streams, strict=True)
            if not tty
        ]
        yield Finding("terminal", f"none at standard {', '.join(names)}", ABSENT)
    missing = [name for name in FOR_THE_TERMINAL if _version(name) == "missing"]
    if missing:
        words = f"no {' and no '.join(missing)}: pip install 'claw-engine[terminal]'"
        yield Finding("colours", words, ABSENT)
    elif not wants_color(flags, environ):
        yield Finding("colours", "off: NO_COLOR or --no-color", OK)
    else:
        yield Finding("colours", "where the terminal has them")


def _sandbox(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Both ways are tried; the first that works is the one in use."""
    from claw.tools.sandbox import sandbox_findings

    for name, found, fine in sandbox_findings(Path.cwd(), environ):
        yield Finding(name, found.partition("; ")[2] if fine else found, OK if fine else ABSENT)
