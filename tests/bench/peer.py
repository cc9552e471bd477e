"""What each client is asked to do, measured inside its own process. A peer module calls `main`.

    python -m tests.bench.claw_peer TASK SERVER N      prints the figures as one JSON line

Imports and a first small request come before the measurement, so that a figure is about the
stream and not about the start. CPU is user and system time of all threads of the process.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median, quantiles
from typing import Any, Protocol

from tests.bench.server import CALLS, call_arguments, delta_text, stamp_of

Figures = dict[str, float]
OnText = Callable[[str], object]

HISTORY_TURNS = 3


class Peer(Protocol):
    """A client of Chat Completions. `base_url` says what the server will send."""

    def text(self, base_url: str, on_text: OnText) -> str:
        """One reply: `on_text` gets each delta as soon as the client hands it over."""

    def calls(self, base_url: str) -> Sequence[Mapping[str, Any]]:
        """One reply with tool calls: their parsed arguments."""

    def conversation(self, base_url: str, messages: int) -> Callable[[], str]:
        """A long history; what is returned asks the next question and gives the answer."""


def main(peer: Peer, **more_tasks: Callable[[str, int], Figures]) -> None:
    task, server, count = sys.argv[1:]
    tasks: dict[str, Callable[[str, int], Figures]] = {
        "burst": lambda server, count: burst(peer, server, "burst", count),
        "padded": lambda server, count: burst(peer, server, "padded", count),
        "tools": lambda server, count: tools(peer, server, count),
        "paced": lambda server, count: paced(peer, server, count),
        "history": lambda server, count: history(peer, server, count),
        **more_tasks,
    }
    print(json.dumps(tasks[task](server, int(count))))


def burst(peer: Peer, server: str, mode: str, count: int) -> Figures:
    """CPU and wall time of one delta, in microseconds, and the peak of memory."""
    deltas = 0

    def count_delta(text: str) -> None:
        nonlocal deltas
        deltas += 1

    peer.text(url(server, mode, 20), count_delta)
    deltas, cpu, wall = 0, cpu_seconds(), time.monotonic()
    text = peer.text(url(server, mode, count), count_delta)
    wall, cpu = time.monotonic() - wall, cpu_seconds() - cpu
    peak = peak_memory()
    sent = "".join(map(delta_text, range(count)))
    check(deltas == count and text == sent, "the text isn't what was sent")
    return {"cpu_us": cpu / count * 1e6, "wall_us": wall / count * 1e6, "memory": peak}


def tools(peer: Peer, server: str, count: int) -> Figures:
    """CPU and wall time of one argument fragment, in microseconds."""
    peer.calls(url(server, "tools", 4 * CALLS))
    cpu, wall = cpu_seconds(), time.monotonic()
    calls = peer.calls(url(server, "tools", count))
    wall, cpu = time.monotonic() - wall, cpu_seconds() - cpu
    sent = json.loads(call_arguments(count // CALLS))
    check([dict(call) for call in calls] == [sent] * CALLS, "the arguments aren't what was sent")
    return {"cpu_us": cpu / count * 1e6, "wall_us": wall / count * 1e6}


def paced(peer: Peer, server: str, count: int) -> Figures:
    """Microseconds from the server's send to the hand-over of a delta."""
    delays: list[int] = []
    peer.text(url(server, "burst", 20), len)
    peer.text(
        url(server, "paced", count),
        lambda text: delays.append(time.monotonic_ns() - stamp_of(text)),
    )
    check(len(delays) == count, "deltas are missing")
    return {"p50_us": median(delays) / 1e3, "p90_us": quantiles(delays, n=10)[-1] / 1e3}


def history(peer: Peer, server: str, messages: int) -> Figures:
    """CPU milliseconds of a turn with a short answer after a history of that many messages."""
    ask = peer.conversation(url(server, "burst", 1), messages)
    ask()
    spent = []
    for _ in range(HISTORY_TURNS):
        cpu = cpu_seconds()
        check(ask() == delta_text(0), "the answer isn't what was sent")
        spent.append(cpu_seconds() - cpu)
    return {"cpu_ms": median(spent) * 1e3}


def url(server: str, mode: str, count: int) -> str:
    return f"{server}/{mode}/{count}/v1"


def cpu_seconds() -> float:
    return time.process_time()


def peak_memory() -> float:
    """In the system's own unit (kilobytes or bytes): only good for ratios."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def check(true: bool, otherwise: str) -> None:
    """A fast client that loses something isn't fast."""
    if not true:
        raise SystemExit(otherwise)
