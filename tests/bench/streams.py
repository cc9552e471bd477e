"""claw beside the openai SDK: each in its own process, in turns, so that both meet the same noise.

A ratio is taken within a round, and the median of the rounds counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from tests.bench.install import ROOT
from tests.bench.peer import Figures
from tests.bench.report import Row

PEER_LIMIT_S = 180.0

PACED_DELTAS = 300
HISTORY_MESSAGES = 10_000
CANCELS = 100


class PeerFailed(Exception):
    """A peer ended badly; the words are its own last ones."""


@dataclass(frozen=True)
class Bench:
    """Where and how often to measure. sdk_python: has the openai SDK; "" where there is none,
    and `no_sdk` says why."""

    server: str
    rounds: int
    deltas: int
    sdk_python: str = ""
    no_sdk: str = ""


@dataclass(frozen=True)
class Comparison:
    """Figure `key` of a task, with the unit of the figure; `row` holds name and goal. A row with
    at_least wants the SDK's figure divided by claw's, any other claw's divided by the SDK's."""

    key: str
    unit: str
    row: Row


def find_sdk(python: Path) -> tuple[str, str]:
    """That Python if it has the openai SDK, else "" and the reason."""
    if not python.exists():
        return "", f"{python.parts[-3]} doesn't exist: `make bench` makes it"
    found = subprocess.run([python, "-c", "import openai"], capture_output=True, text=True)
    return (str(python), "") if found.returncode == 0 else ("", "no openai SDK in .venv-bench")


def text_burst(bench: Bench) -> Iterator[Row]:
    name = f"{bench.deltas:,} text deltas"
    yield from _compare(
        bench,
        "burst",
        bench.deltas,
        Comparison("cpu_us", "us", Row(f"{name}: CPU a delta", 12, "x", at_least=True)),
        Comparison("wall_us", "us", Row(f"{name}: time a delta", 10, "x", at_least=True)),
        Comparison("memory", "", Row(f"{name}: peak memory", 0.7, "x")),
    )


def tool_burst(bench: Bench) -> Iterator[Row]:
    row = Row("4 interleaved tool calls: CPU a fragment", 11, "x", at_least=True)
    yield from _compare(bench, "tools", bench.deltas, Comparison("cpu_us", "us", row))


def latency(bench: Bench) -> Iterator[Row]:
    yield from _compare(
        bench,
        "paced",
        PACED_DELTAS,
        Comparison("p50_us", "us", Row("100 events/s: added latency, p50", 0.6, "x")),
        Comparison("p90_us", "us", Row("100 events/s: added latency, p90", 0.6, "x")),
    )


def long_history(bench: Bench) -> Iterator[Row]:
    row = Row(f"turn after {HISTORY_MESSAGES:,} messages: CPU", 60, "x", at_least=True)
    yield from _compare(bench, "history", HISTORY_MESSAGES, Comparison("cpu_ms", "ms", row))


def cancel(bench: Bench) -> Iterator[Row]:
    figures = _run_peer(sys.executable, "claw_peer", "cancel", bench.server, CANCELS)
    yield Row("cancel in a silent stream: run returns, p50", 20, "ms", figures["p50_ms"])
    yield Row("cancel in a silent stream: run returns, p99", 50, "ms", figures["p99_ms"])


def _compare(bench: Bench, task: str, count: int, *comparisons: Comparison) -> Iterator[Row]:
    ours: list[Figures] = []
    theirs: list[Figures] = []
    for _ in range(bench.rounds):
        ours.append(_run_peer(sys.executable, "claw_peer", task, bench.server, count))
        if bench.sdk_python:
            theirs.append(_run_peer(bench.sdk_python, "openai_peer", task, bench.server, count))
    for comparison in comparisons:
        yield _row(comparison, ours, theirs, bench.no_sdk)


def _row(comparison: Comparison, ours: list[Figures], theirs: list[Figures], no_sdk: str) -> Row:
    key, row = comparison.key, comparison.row
    mine, other = [round_[key] for round_ in ours], [round_[key] for round_ in theirs]
    shown = _shown(mine, comparison.unit)
    if not other:
        return replace(row, claw=shown, skipped=no_sdk)
    ratios = [b / a if row.at_least else a / b for a, b in zip(mine, other, strict=True)]
    return replace(row, measured=median(ratios), claw=shown, other=_shown(other, comparison.unit))


def _shown(figures: list[float], unit: str) -> str:
    return f"{median(figures):.3g} {unit}" if unit else ""


def _run_peer(python: str, peer: str, task: str, server: str, count: int) -> Figures:
    command = [python, "-m", f"tests.bench.{peer}", task, server, str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PEER_LIMIT_S)
    if done.returncode != 0:
        raise PeerFailed(f"{peer} {task}: {(done.stderr.strip() or 'no words')[-2000:]}")
    figures: Figures = json.loads(done.stdout)
    return figures
