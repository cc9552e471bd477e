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
from tests.bench.report import MeasureFailed, Row

PEER_LIMIT_S = 180.0

PACED_DELTAS = 300
HISTORY_MESSAGES = 10_000
CANCELS = 100
NO_SDK = "no openai SDK"


@dataclass(frozen=True)
class SDK:
    """A Python that has the openai SDK, and the SDK's version; `missing` says why there is none."""

    python: str = ""
    version: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Bench:
    """Where, how often and beside what to measure."""

    server: str
    rounds: int
    deltas: int
    sdk: SDK


@dataclass(frozen=True)
class Comparison:
    """Figure `key` of a task, with the unit of the figure; `row` holds name and goal. A row with
    at_least wants the SDK's figure divided by claw's, any other claw's divided by the SDK's."""

    key: str
    unit: str
    row: Row


def find_sdk(python: Path) -> SDK:
    """Asks that Python for its SDK."""
    if not python.exists():
        return SDK(missing=f"there is no {python.name} in {python.parent}: `make bench` sets it up")
    question = "import openai; print(openai.__version__)"
    asked = subprocess.run([python, "-c", question], capture_output=True, text=True)
    if asked.returncode != 0:
        return SDK(missing="the openai SDK couldn't be installed")
    return SDK(str(python), asked.stdout.strip())


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


def messages_burst(bench: Bench) -> Iterator[Row]:
    """claw's two dialects side by side; the other one is Chat Completions."""
    row = Row("text deltas, Messages beside Chat: CPU a delta", 1.5, "x")
    messages: list[Figures] = []
    chat: list[Figures] = []
    for _ in range(bench.rounds):
        for task, figures in (("messages", messages), ("burst", chat)):
            figures.append(_run_peer(sys.executable, "claw_peer", task, bench.server, bench.deltas))
    yield _row(Comparison("cpu_us", "us", row), messages, chat)


def padded_burst(bench: Bench) -> Iterator[Row]:
    row = Row("text deltas with random padding: CPU a delta", 12, "x", at_least=True)
    yield from _compare(bench, "padded", bench.deltas, Comparison("cpu_us", "us", row))


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
        if bench.sdk.python:
            theirs.append(_run_peer(bench.sdk.python, "openai_peer", task, bench.server, count))
    for comparison in comparisons:
        yield _row(comparison, ours, theirs)


def _row(comparison: Comparison, ours: list[Figures], theirs: list[Figures]) -> Row:
    key, row = comparison.key, comparison.row
    mine, other = [round_[key] for round_ in ours], [round_[key] for round_ in theirs]
    shown = _shown(mine, comparison.unit)
    if not other:
        return replace(row, claw=shown, skipped=NO_SDK)
    ratios = [b / a if row.at_least else a / b for a, b in zip(mine, other, strict=True)]
    return replace(row, measured=median(ratios), claw=shown, other=_shown(other, comparison.unit))


def _shown(figures: list[float], unit: str) -> str:
    return f"{median(figures):.3g} {unit}" if unit else ""


def _run_peer(python: str, peer: str, task: str, server: str, count: int) -> Figures:
    command = [python, "-m", f"tests.bench.{peer}", task, server, str(count)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=PEER_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        raise MeasureFailed(f"{peer} {task}: not over after {PEER_LIMIT_S:.0f} s") from None
    if done.returncode != 0:
        raise MeasureFailed(f"{peer} {task}: {done.stderr.strip()[-2000:]}")
    figures: Figures = json.loads(done.stdout)
    return figures
