"""The `claw` command beside a bare script: whole processes in turns, to the end or first token."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests.bench.install import Installation
from tests.bench.report import Row
from tests.bench.server import DELTA

BARE = str(Path(__file__).with_name("bare_command.py"))
STARTS_PER_ROUND = 4

Timer = Callable[[], float]


class CommandFailed(Exception):
    """A command didn't do what is measured; the words are its own last ones."""


def help_text(installation: Installation, rounds: int) -> Row:
    claw, bare = [installation.claw, "--help"], [installation.python, BARE, "--help"]
    row = Row("claw --help, beside click", 1.5, "x")
    return _beside(row, rounds, lambda: _run(claw), lambda: _run(bare))


def first_token(installation: Installation, rounds: int, base_url: str) -> Row:
    options = ["--base-url", base_url, "--model", "bench-model", "go"]
    claw = [installation.claw, "run", *options]
    bare = [installation.python, BARE, *options]
    token = DELTA.encode()
    row = Row("claw run: first token, beside click+requests", 1.5, "x")
    return _beside(row, rounds, lambda: _run(claw, until=token), lambda: _run(bare, until=token))


def importing(installation: Installation, rounds: int) -> Row:
    claw, nothing = [[installation.python, "-c", code] for code in ("import claw", "pass")]
    ours, bare = _in_turns(rounds, lambda: _run(claw), lambda: _run(nothing))
    row = Row("import claw, over bare Python", 40, "ms")
    extra = (median(ours) - median(bare)) * 1e3
    return replace(row, measured=extra, claw=_ms(ours), other=_ms(bare))


def _beside(row: Row, rounds: int, claw: Timer, bare: Timer) -> Row:
    ours, theirs = _in_turns(rounds, claw, bare)
    ratio = median(ours) / median(theirs)
    return replace(row, measured=ratio, claw=_ms(ours), other=_ms(theirs))


def _in_turns(rounds: int, one: Timer, other: Timer) -> tuple[list[float], list[float]]:
    """Both timers' seconds; a first run of each, which fills the caches, doesn't count."""
    pairs = [(one(), other()) for _ in range(1 + rounds * STARTS_PER_ROUND)][1:]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _run(command: Sequence[str], until: bytes = b"") -> float:
    """Seconds from the start of a process to its end, or until those bytes are on its standard
    output. It runs in an empty folder, with nothing set that could tell claw what to do."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        environ = {"PATH": os.environ["PATH"], "HOME": folder, "CLAW_HOME": folder}
        environ |= {"LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"}
        start = time.monotonic()
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            output, shown_at = b"", None
            while data := os.read(process.stdout.fileno(), 65536):
                output += data
                if shown_at is None and until and until in output:
                    shown_at = time.monotonic()
            errors = process.communicate()[1].decode(errors="replace")
        ended_at = time.monotonic()
    if process.returncode != 0 or (until and shown_at is None):
        raise CommandFailed(
            f"{' '.join(command)}: exit code {process.returncode}: {errors[-2000:]}"
        )
    return (shown_at or ended_at) - start


def _ms(seconds: Sequence[float]) -> str:
    return f"{median(seconds) * 1e3:.0f} ms"
