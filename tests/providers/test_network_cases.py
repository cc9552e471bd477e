"""Every case of tests/cases/stream over a real connection, as written and in other cuttings.

The cases of a cutting are played eight at a time: most of their time is waiting.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from claw.cancel import CancelToken
from claw.events import Completed, Failed, TextDelta
from claw.messages import Message
from claw.providers.anthropic import AnthropicMessages
from claw.providers.base import ModelRequest
from claw.providers.openai_chat import OpenAIChat
from tests.support.cases import Case, check, cuttings, play_case, stream_cases

CASES = stream_cases()
PROVIDERS = {"openai": OpenAIChat, "anthropic": AnthropicMessages}
CLOCKS = {"idle_timeout": 5, "progress_timeout": 600}  # what the cases count on
LATEST_S = 5


@pytest.fixture(scope="module")
def player() -> Iterator[Any]:
    cases = {case["name"]: case for case in CASES}
    with play_case().serve(cases) as player:
        yield player
        player.closed.set()
        socket.create_connection(("127.0.0.1", player.port)).close()  # wakes its accept
        player.thread.join(5)


def play(player: Any, case: Case, cutting: int | None) -> None:
    """Asks for a case over HTTP, and fails unless the outcome is the expected one, in time."""
    name = case["name"] if cutting is None else f"{case['name']}@{cutting}"
    provider = PROVIDERS[case["dialect"]](
        "m",
        base_url=player.url(name),
        max_retries=0,
        proxies={},
        **CLOCKS | case.get("client", {}),
    )
    start, first_text, events = time.monotonic(), None, []
    for event in provider.stream(ModelRequest([Message.user("Hi")]), CancelToken()):
        if isinstance(event, TextDelta):
            first_text = first_text or time.monotonic() - start
        events.append(event)
    provider.close()
    *deltas, last = events
    assert isinstance(last, Completed | Failed)
    outcome: Any = last.message if isinstance(last, Completed) else last.error
    check(case["expect"], deltas, outcome)
    assert time.monotonic() - start < case["expect"].get("within", LATEST_S)
    if cutting is None and "first_delta_within" in case["expect"]:
        assert first_text is not None
        assert first_text < case["expect"]["first_delta_within"]


def play_all(player: Any, cases: list[Case], cutting: int | None) -> None:
    def fault_in(case: Case) -> str | None:
        try:
            play(player, case, cutting)
        except Exception as error:
            return f"{case['name']}: {type(error).__name__}: {error}"
        return None

    assert cases
    with ThreadPoolExecutor(8) as pool:
        faults = [fault for fault in pool.map(fault_in, cases) if fault]
    assert not faults, "\n".join(faults)


def worth_cutting(cutting: int) -> list[Case]:
    return [case for case in CASES if cutting in cuttings(case)]


def test_every_case_as_it_is_written(player: Any) -> None:
    play_all(player, CASES, None)


@pytest.mark.parametrize("cutting", [0, 7])
def test_every_case_in_one_write_and_in_small_ones(player: Any, cutting: int) -> None:
    play_all(player, worth_cutting(cutting), cutting)


def test_some_cases_byte_by_byte(player: Any) -> None:
    play_all(player, worth_cutting(1)[::16], 1)


@pytest.mark.stress
def test_every_case_byte_by_byte(player: Any) -> None:
    play_all(player, worth_cutting(1), 1)
