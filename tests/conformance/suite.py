"""Every case in every cutting against one client; the first fault settles a case."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.client import Client, Hung
from tests.conformance.judge import LATEST_S, fault_in_events, fault_in_reply
from tests.support.cases import Case, cuttings, load, stream_cases, writes

GRACE_S = 2.0  # after the time that a case allows
DECODE_S = 5.0
WORKERS = 2
SSE_KIND = "sse/"
CLIENT = {"idle_timeout": 5, "progress_timeout": 600, "max_reply_bytes": 50_000_000}
Said = Callable[[str], object]


@dataclass(frozen=True)
class Fault:
    """Why a case is lost. cutting: None for the writes as they stand in the case."""

    case: str
    kind: str
    cutting: int | None
    why: str


@dataclass
class Score:
    """What came out for one client. kinds: how many cases of a kind it was asked."""

    name: str
    version: str
    kinds: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def passed(self, kind: str | None = None) -> tuple[int, int]:
        """(cases won, cases asked) of a kind, or in all."""
        asked = sum(self.kinds.values()) if kind is None else self.kinds.get(kind, 0)
        return asked - sum(kind in (None, fault.kind) for fault in self.faults), asked

    def to_dict(self) -> dict[str, Any]:
        won, asked = self.passed()
        return {
            "name": self.name,
            "version": self.version,
            "passed": won,
            "cases": asked,
            "kinds": {kind: self.passed(kind) for kind in sorted(self.kinds)},
            "faults": [vars(fault) for fault in self.faults],
        }


def play_all(adapter: str, python: str, player: Any) -> Score | str:
    """The score of a client, or why it can't be had. `player` serves the stream cases."""
    with Client(adapter, python) as client:
        about = client.about
    if "missing" in about:
        return str(about["missing"])
    cases = [case for case in stream_cases() if case["dialect"] in about["dialects"]]
    cases += load("sse").values()
    score = Score(about["name"], about["version"])
    for case in cases:
        kind = kind_of(case)
        score.kinds[kind] = score.kinds.get(kind, 0) + 1
    score.faults = _in_parallel(adapter, python, player, cases)
    return score


def kind_of(case: Case) -> str:
    return str(case.get("kind", SSE_KIND))


def _in_parallel(adapter: str, python: str, player: Any, cases: Sequence[Case]) -> list[Fault]:
    waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    faults: list[Fault] = []

    def work() -> None:
        with Client(adapter, python) as client:
            while True:
                try:
                    case = waiting.get_nowait()
                except queue.Empty:
                    return
                if fault := fault_of(client, player, case):
                    faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(faults, key=lambda fault: fault.case)


def fault_of(client: Client, player: Any, case: Case) -> Fault | None:
    for cutting in cuttings(case):
        try:
            why = _play(client, player, case, cutting)
        except Hung:
            why = "no outcome in time"
        if why:
            return Fault(case["name"], kind_of(case), cutting, why)
    return None


def _play(client: Client, player: Any, case: Case, cutting: int | None) -> str | None:
    expect = case["expect"]
    if "dialect" not in case:
        order = {"writes": [data.hex() for data in writes(case, cutting)]}
        return fault_in_events(expect, client.play(order, DECODE_S))
    name = case["name"] if cutting is None else f"{case['name']}@{cutting}"
    order = {
        "base_url": player.url(name),
        "dialect": case["dialect"],
        "client": CLIENT | case.get("client", {}),
    }
    outcome = client.play(order, expect.get("within", LATEST_S) + GRACE_S)
    if cutting is not None:  # then the first text may come late
        expect = {key: value for key, value in expect.items() if key != "first_delta_within"}
    return fault_in_reply(expect, outcome)
