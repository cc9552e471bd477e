"""The `claw` command beside a bare script: whole processes in turns, to the end or first token."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from threading import Timer

from tests.bench.install import Installation
from tests.bench.report import MeasureFailed, Row
from tests.bench.server import delta_text

BARE = str(Path(__file__).with_name("bare_command.py"))
STARTS_PER_ROUND = 6
COMMAND_LIMIT_S = 60.0

Seconds = Callable[[], float]


def help_text(installation: Installation, rounds: int) -> Row:
    claw, bare = [installation.claw, "--help"], [installation.python, BARE, "--help"]
    row = Row("claw --help, beside click", 1.5, "x")
    return _beside(row, rounds, lambda: _run(claw), lambda: _run(bare))


def first_token(installation: Installation, rounds: int, base_url: str) -> Row:
    options = ["--base-url", base_url, "--model", "bench-model", "go"]
    claw = [installation.claw, "run", *options]
    bare = [installation.python, BARE, *options]
    token = delta_text(0).encode()
    row = Row("claw run: first token, beside click+requests", 1.5, "x")
    return _beside(row, rounds, lambda: _run(claw, until=token), lambda: _run(bare, until=token))


def importing(installation: Installation, rounds: int, statement: str) -> Row:
    claw, nothing = [[installation.python, "-c", code] for code in (statement, "pass")]
    ours, bare = _in_turns(rounds, lambda: _run(claw), lambda: _run(nothing))
    row = Row(f"{statement}, over bare Python", 40, "ms")
    extra = (median(ours) - median(bare)) * 1e3
    return replace(row, measured=extra, claw=_ms(ours), other=_ms(bare))


def _beside(row: Row, rounds: int, claw: Seconds, bare: Seconds) -> Row:
    ours, theirs = _in_turns(rounds, claw, bare)
    ratio = median(ours) / median(theirs)
    return replace(row, measured=ratio, claw=_ms(ours), other=_ms(theirs))


def _in_turns(rounds: int, one: Seconds, other: Seconds) -> tuple[list[float], list[float]]:
    """Both in seconds; a first run of each, which fills the caches, doesn't count."""
    pairs = [(one(), other()) for _ in range(1 + rounds * STARTS_PER_ROUND)][1:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _run(command: Sequence[str], until: bytes = b"") -> float:
    """Seconds from the start of a process to its end, or until those bytes are on its standard
    output. It runs in an empty folder, with nothing set that could tell claw what to do."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "CLAW_HOME": folder}
        environ |= {"LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
        start = time.monotonic()
        with (
            subprocess.Popen(
                command,
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as process,
            _time_limit(process),
        ):
            shown_at = _time_of(until, process)
            errors = process.communicate()[1].decode(errors="replace")
        ended_at = time.monotonic()
    if process.returncode != 0 or (until and shown_at is None):
        raise MeasureFailed(
            f"{' '.join(command)}: exit code {process.returncode}: {errors[-2000:]}"
        )
    return (shown_at or ended_at) - start


def _time_of(wanted: bytes, process: subprocess.Popen[bytes]) -> float | None:
    """When those bytes were on standard output, which is read to its end; None if never."""
    assert process.stdout is not None
    output, shown_at = b"", None
    while data := os.read(process.stdout.fileno(), 65536):
        output += data
        if shown_at is None and wanted and wanted in output:
            shown_at = time.monotonic()
    return shown_at


@contextmanager
def _time_limit(process: subprocess.Popen[bytes]) -> Iterator[None]:
    timer = Timer(COMMAND_LIMIT_S, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _ms(seconds: Sequence[float]) -> str:
    return f"{median(seconds) * 1e3:.0f} ms"
