"""The safety cases about sessions: a torn last line, and a cancelled call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claw.engine import Engine
from claw.messages import Message, TextBlock, ToolCall, ToolResult
from claw.providers import ScriptedProvider, text_turn
from claw.session import Session, orphan_results, unanswered_calls
from claw.store import SessionStore
from tests.support.storing import file_of, run_calls

CASES = Path(__file__).parent.parent / "cases" / "safety"
Case = dict[str, Any]


def case_named(name: str) -> Case:
    return json.loads((CASES / f"{name}.json").read_text())


def save(store: SessionStore, messages: list[Case]) -> str:
    """Saves Chat Completions messages as claw does, a step at a time; returns the id."""
    with store.new("/work", "m") as session:
        for message in messages:
            if message["role"] == "tool":
                run_calls(session, ToolResult(message["tool_call_id"], message["content"]))
            else:
                session.append(as_message(message))
                for call in session.open_calls:  # all of them were running
                    session.call_started(call)
    assert session.id is not None
    return session.id


def as_message(message: Case) -> Message:
    if message["role"] == "user":
        return Message.user(message["content"])
    calls = [
        ToolCall(each["id"], each["function"]["name"], json.loads(each["function"]["arguments"]))
        for each in message.get("tool_calls", [])
    ]
    text = [TextBlock(message["content"])] if message["content"] else []
    return Message.assistant(*text, *calls)


def told_by(session: Session) -> list[str]:
    """What the user sees: each line is told by the next run."""
    return list(session.notices)


def test_a_torn_last_line_costs_itself_alone(store: SessionStore) -> None:
    case = case_named("session-01-torn-last-line")
    setup, expect = case["setup"]["session"], case["expect"]
    session_id = save(store, setup["messages"])
    file = file_of(store, session_id)
    file.write_bytes(file.read_bytes()[: -setup["cut_last_bytes"]])
    with store.open(session_id) as session:
        assert bool(told_by(session)) == expect["warns_user"]
        session.append(as_message(case["action"]["arguments"]["append"]))
    with store.open(session_id) as again:
        assert [message.text for message in again.messages] == expect["messages_after_reload"]
        assert again.notices == []
    torn = [line for line in file.read_bytes().splitlines() if not is_json(line)]
    assert len(torn) == 1
    assert b"five" not in torn[0]


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_a_cancelled_call_is_paired(store: SessionStore) -> None:
    case = case_named("session-02-cancelled-tool-call-is-paired")
    expect = case["expect"]["next_request"]
    session_id = save(store, case["setup"]["session"]["messages"])
    provider = ScriptedProvider(text_turn("fine"))
    with store.open(session_id) as session:
        Engine(provider).run(session, case["action"]["arguments"]["text"])
    [request] = provider.requests
    assert len(unanswered_calls(request.messages)) == expect["unpaired_tool_calls"]
    assert len(orphan_results(request.messages)) == expect["orphan_tool_results"]
    contents = {r.call_id: r.content for each in request.messages for r in each.tool_results}
    assert contents["c1"] == "ok"
    for call_id, rule in expect["result_for"].items():
        assert any(word in contents[call_id] for word in rule["contains_any"])


@pytest.mark.parametrize("name", ["session-01-torn-last-line"])
def test_the_cut_falls_inside_the_last_record(name: str, store: SessionStore) -> None:
    """Else the case above would prove nothing."""
    setup = case_named(name)["setup"]["session"]
    file = file_of(store, save(store, setup["messages"]))
    last = file.read_bytes().splitlines(keepends=True)[-1]
    assert len(last) > setup["cut_last_bytes"]
