"""The suite itself: its judge finds every difference, and a bad client does not stop it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import table
from tests.conformance.adapters.terms import call, stop_name
from tests.conformance.client import Client, Hung
from tests.conformance.judge import fault_in_events, fault_in_reply
from tests.conformance.suite import Fault, Score, fault_of
from tests.support.cases import load

CALL = {"id": "c1", "name": "ls", "arguments": {"path": "."}}
EXPECTED: dict[str, Any] = {
    "message": {
        "text": "Hi",
        "reasoning": "so",
        "tool_calls": [{**CALL, "id": "*"}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    "text_deltas_joined": "Hi",
    "keeps": ["signed"],
    "within": 5,
    "first_delta_within": 1,
}
MESSAGE = {**EXPECTED["message"], "tool_calls": [CALL]}
GOOD: dict[str, Any] = {
    "message": MESSAGE,
    "stored": "signed",
    "text_deltas": "Hi",
    "seconds": 0.1,
    "first_delta": 0.1,
}
ERROR = {"kind": "http", "status": 429, "retryable": True, "retry_after": 7, "contains": "Slow"}
TOLD = {"kind": "http", "status": 429, "retryable": True, "retry_after": 8.0, "message": "slow!"}


def test_the_expected_message_is_no_fault() -> None:
    assert fault_in_reply(EXPECTED, GOOD) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"text_deltas": "H"}, "text deltas"),
        ({"stored": "unsigned?"}, None),
        ({"stored": ""}, "not kept"),
        ({"seconds": 5.1}, "not within"),
        ({"first_delta": None}, "first text"),
        ({"message": {**MESSAGE, "text": "Ho"}}, "text"),
        ({"message": {**MESSAGE, "reasoning": ""}}, "reasoning"),
        ({"message": {k: v for k, v in MESSAGE.items() if k != "reasoning"}}, None),
        ({"message": {**MESSAGE, "stop_reason": "end_turn"}}, "stop_reason"),
        ({"message": {**MESSAGE, "usage": None}}, "usage"),
        ({"message": {**MESSAGE, "usage": {**MESSAGE["usage"], "cached_tokens": 0}}}, None),
        ({"message": {**MESSAGE, "tool_calls": []}}, "tool calls"),
        ({"message": {**MESSAGE, "tool_calls": [CALL, CALL]}}, "unique"),
        ({"message": {**MESSAGE, "tool_calls": [CALL, {**CALL, "id": "c2"}]}}, "tool calls"),
        ({"message": {**MESSAGE, "tool_calls": [{**CALL, "id": ""}]}}, "empty"),
        ({"error": {"kind": "truncated"}}, "an error in place of a message"),
    ],
)
def test_every_part_of_a_message_is_compared(change: dict[str, Any], words: str | None) -> None:
    fault = fault_in_reply(EXPECTED, GOOD | change)
    assert fault is None if words is None else words in str(fault)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, None),
        ({"kind": "crash"}, "kind of error"),
        ({"status": 503}, "status"),
        ({"retryable": False}, "retryable"),
        ({"retry_after": None}, "retry_after"),
        ({"retry_after": 30.0}, "retry_after"),
        ({"message": "later"}, "doesn't show"),
    ],
)
def test_every_part_of_an_error_is_compared(change: dict[str, Any], words: str | None) -> None:
    times = {"seconds": 0.1, "first_delta": None}
    fault = fault_in_reply({"error": ERROR}, {"error": TOLD | change, **times})
    assert fault is None if words is None else words in str(fault)


def test_what_a_client_does_not_know_is_not_compared() -> None:
    told = {"error": {"kind": "http", "message": "slow"}, "seconds": 0.1, "first_delta": None}
    assert fault_in_reply({"error": ERROR}, told) is None


def test_a_message_where_an_error_is_due_is_a_fault() -> None:
    assert "in place of an error" in str(fault_in_reply({"error": ERROR}, GOOD))


def test_events_and_retry_are_compared() -> None:
    event = {"event": "message", "data": "a", "id": ""}
    expect = {"events": [event], "retry": 3}
    assert fault_in_events(expect, {"events": [event], "retry": 3}) is None
    assert "retry" in str(fault_in_events(expect, {"events": [event], "retry": None}))
    assert "events" in str(fault_in_events(expect, {"events": [], "retry": 3}))


def test_adapters_rename_and_do_not_mend() -> None:
    assert (
        stop_name("stop", has_calls=True) == stop_name("tool_calls", has_calls=True) == "tool_use"
    )
    assert stop_name("length", has_calls=True) == "max_tokens"
    assert stop_name(None, has_calls=False) is None
    assert call("1", "ls", "")["arguments"] == {}
    assert call("1", "ls", '{"a":')["invalid_arguments"] == '{"a":'


BROKEN = """
import json, os, sys, time
print(json.dumps({"name": "x"}), flush=True)
for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "hang":
        time.sleep(60)
    if order["do"] == "die":
        os._exit(1)
    print(json.dumps({"did": order["do"], "padding": "x" * 300_000}), flush=True)
"""


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Client]:
    """A client whose worker hangs or dies when it is told to."""
    python = tmp_path / "python"
    (tmp_path / "worker.py").write_text(BROKEN)
    python.write_text(f"#!/bin/sh\nexec {sys.executable} {tmp_path / 'worker.py'}\n")
    python.chmod(0o755)
    with Client("any", str(python)) as client:
        yield client


def test_a_client_that_hangs_or_dies_is_started_anew(broken: Client) -> None:
    assert broken.about == {"name": "x"}
    with pytest.raises(Hung):
        broken.play({"do": "hang"}, 0.3)
    assert broken.play({"do": "work"}, 20)["did"] == "work"
    assert broken.play({"do": "die"}, 20)["error"]["kind"] == "crash"
    assert broken.play({"do": "work"}, 20)["did"] == "work"


def test_claw_plays_the_parsers_cases_through_its_adapter() -> None:
    with Client("claw_adapter", sys.executable) as client:
        assert client.about["name"] == "claw-engine"
        for case in list(load("sse").values())[:5]:
            assert fault_of(client, None, case) is None


def test_the_table_counts_by_kind() -> None:
    scores = [
        Score("a", "1", {"plain": 2, "end": 1}, [Fault("x", "plain", None, "why")]),
        Score("b", "2", {"plain": 1}),
    ]
    assert table(scores).splitlines() == [
        "kind of case | a 1 | b 2",
        "-------------|-----|----",
        "end          | 1/1 |",
        "plain        | 1/2 | 1/1",
        "all          | 2/3 | 1/1",
    ]
    assert scores[0].to_dict()["kinds"] == {"end": (1, 1), "plain": (1, 2)}
