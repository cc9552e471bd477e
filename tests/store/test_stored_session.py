"""What a session's file holds, and what comes back from it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from claw import Engine, HistoryError, MemoryReporter
from claw.events import RunResult, RunStatus
from claw.messages import (
    Message,
    OpaqueBlock,
    ReasoningBlock,
    StopReason,
    TextBlock,
    ToolCall,
    ToolResult,
    Usage,
)
from claw.providers import ScriptedProvider, text_turn
from claw.results import Totals
from claw.session import NOT_RUN, UNKNOWN_OUTCOME
from claw.store import SessionStore, StoredSession
from tests.support.storing import (
    check_whole,
    file_of,
    run_calls,
    two_calls,
    worked,
    working_engine,
)


def records_of(store: SessionStore, session: StoredSession) -> list[dict[str, Any]]:
    assert session.id is not None
    return [json.loads(line) for line in file_of(store, session.id).read_text().splitlines()]


def types_of(store: SessionStore, session: StoredSession) -> list[str]:
    return [record["type"] for record in records_of(store, session)]


def reloaded(store: SessionStore, session: StoredSession) -> StoredSession:
    assert session.id is not None
    session.close()
    again = store.open(session.id)
    again.close()
    return again


def test_each_step_of_a_run_is_a_line_of_its_own(store: SessionStore) -> None:
    with store.new("/work", "model-1") as session:
        result = working_engine().run(session, "prompt 0")
        assert result.session == session.id
        types = types_of(store, session)
    assert types[:3] == ["session", "message", "message"]
    assert types[3:7] == ["call_started", "call_ended"] * 2
    assert sorted(types[7:11]) == ["call_ended"] * 2 + ["call_started"] * 2
    assert types[11:] == ["results", "message", "turn_ended"]
    header, *_, results, _, ended = records_of(store, session)
    assert (header["version"], header["id"]) == (1, session.id)
    assert (header["cwd"], header["model"], header["title"]) == ("/work", "model-1", "prompt 0")
    assert header["created"].endswith("Z")
    assert results == {
        "type": "results",
        "ids": ["call_0_work", "call_1_work", "call_2_look", "call_3_look"],
    }
    assert (ended["status"], ended["steps"]) == ("completed", 2)
    again = reloaded(store, session)
    assert list(again.messages) == worked(1)
    assert again.totals.turns == 1
    assert again.notices == []


def test_files_are_for_the_user_alone(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        session.append(Message.user("hello"))
        assert session.id is not None
        file = file_of(store, session.id)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(store.folder.parent.stat().st_mode) == 0o700


def test_a_session_in_which_nothing_was_said_leaves_no_file(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        session.clear()
    assert not store.folder.exists()


def test_every_kind_of_block_comes_back_as_it_was(store: SessionStore) -> None:
    said = [
        Message.user('quotes " \\ \n\u2028 é 😀 and half a pair: \ud800'),
        Message(
            "assistant",
            (
                ReasoningBlock("hm", opaque={"signature": "x"}),
                OpaqueBlock({"type": "server_tool", "n": [1, None]}),
                TextBlock("text"),
                ToolCall("c1", "bash", {"command": "ls", "deep": {"a": [1.5]}}, opaque="o"),
                ToolCall("c2", "bash", error="not JSON", raw='{"comm'),
            ),
            StopReason.TOOL_USE,
            "tool_calls",
            Usage(1, 2, 3, 4),
            "model-2",
        ),
        Message.tool(ToolResult("c1", "one\x00two"), ToolResult("c2", "no", is_error=True)),
    ]
    with store.new("/work", "m") as session:
        for message in said:
            session.append(message)
    assert list(reloaded(store, session).messages) == said


def test_calls_of_a_turn_that_died_are_closed_as_far_as_they_came(store: SessionStore) -> None:
    calls = [ToolCall(name, "bash") for name in ("ended", "started", "waiting")]
    with store.new("/work", "m") as session:
        session.append(Message.user("go"))
        session.append(Message.assistant(*calls))
        run_calls(session, ToolResult("ended", "fine"))
        session.call_started(calls[1])
    again = reloaded(store, session)
    assert again.messages[-1] == Message.tool(
        ToolResult("ended", "fine"),
        ToolResult("started", UNKNOWN_OUTCOME, is_error=True),
        ToolResult("waiting", NOT_RUN, is_error=True),
    )
    [notice] = again.notices
    assert "started (unknown outcome" in notice
    assert reloaded(store, again).notices == []  # it is written down, and so told once
    assert reloaded(store, again).messages == again.messages


def test_results_count_within_their_own_message(store: SessionStore) -> None:
    """Some servers name the first call of every reply the same."""
    with store.new("/work", "m") as session:
        for text in ("first", "second"):
            session.append(Message.assistant(ToolCall("call_0", "bash")))
            run_calls(session, ToolResult("call_0", text))
            session.append(Message.tool(ToolResult("call_0", text)))
        session.append(Message.assistant(ToolCall("call_0", "bash")))
    contents = [r.content for each in reloaded(store, session).messages for r in each.tool_results]
    assert contents == ["first", "second", NOT_RUN]


def test_clear_rewind_and_compact_are_steps_as_well(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        working_engine().run(session, "prompt 0")
        session.clear()
        for text in ("one", "two", "three"):
            session.append(Message.user(text))
        session.rewind(2)
        session.compact([Message.user("what was said: one")], kept=1)
        session.append(Message.user("four"))
    texts = [message.text for message in session.messages]
    assert texts == ["what was said: one", "two", "four"]
    assert reloaded(store, session).messages == session.messages
    assert session.id is not None
    assert "prompt 0" in file_of(store, session.id).read_text()  # the whole stays there


def test_a_cut_between_a_call_and_its_results_is_refused(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        working_engine().run(session, "prompt 0")
        before, types = session.messages, types_of(store, session)
        with pytest.raises(HistoryError):
            session.rewind(2)
        with pytest.raises(HistoryError):
            session.compact([], kept=2)
        for beyond in (-1, 5):
            with pytest.raises(HistoryError):
                session.rewind(beyond)
            with pytest.raises(HistoryError):
                session.compact([], kept=beyond)
        assert session.messages == before
        assert types_of(store, session) == types


def test_usage_and_cost_of_all_turns_are_added_up(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        for number, cost in ((1, 0.1), (2, None), (3, 0.2)):
            usage = Usage(number, 10 * number)
            session.append(Message.user("go"))
            session.run_ended(RunResult(RunStatus.COMPLETED, usage=usage, cost=cost))
    assert reloaded(store, session).totals == session.totals == Totals(3, Usage(6, 60), 0.3, 1)


def test_a_resumed_session_goes_on_in_the_same_file(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        working_engine().run(session, "prompt 0")
    assert session.id is not None
    with store.open(session.id) as again:
        working_engine().run(again, "prompt 1")
    assert again.id == session.id
    assert list(reloaded(store, again).messages) == worked(2)
    assert types_of(store, again).count("session") == 1


def test_what_json_cant_hold_is_told_and_the_rest_is_kept(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        session.append(Message.user("before"))
        session.append(Message.assistant(TextBlock("x"), OpaqueBlock({"a": {1, 2}})))
        session.append(Message.user("after"))
        [notice] = session.notices
    assert "can't be saved" in notice
    assert [m.text for m in reloaded(store, session).messages] == ["before", "after"]


def test_after_close_the_conversation_goes_on_in_memory_and_says_so(store: SessionStore) -> None:
    session = two_calls(store)
    session.close()
    session.close()
    run_calls(session, ToolResult("c1", "1"), ToolResult("c2", "2"))
    session.close_open_calls()
    check_whole(session.messages)
    [notice] = session.notices
    assert "can't be saved" in notice


def test_trouble_is_told_by_the_run_itself(store: SessionStore, tmp_path: Path) -> None:
    store.folder.parent.mkdir()
    store.folder.write_text("a file in the folder's place")
    session, seen = store.new("/work", "m"), MemoryReporter()
    provider = ScriptedProvider(text_turn("one"), text_turn("two"), text_turn("three"))
    engine = Engine(provider, reporter=seen)
    engine.run(session, "first")
    [notice] = notices_of(seen)
    assert "can't be saved" in notice
    assert "\n" not in notice
    engine.run(session, "second")
    assert len(notices_of(seen)) == 1  # told once
    assert session.unsaved == 7
    store.folder.unlink()
    engine.run(session, "third")
    assert "saved again" in notices_of(seen)[-1]
    assert reloaded(store, session).messages == session.messages


def test_what_could_not_be_saved_is_told_at_the_end(store: SessionStore) -> None:
    store.folder.parent.mkdir()
    store.folder.write_text("")
    with store.new("/work", "m") as session:
        session.append(Message.user("lost"))
        session.take_notices()
    [notice] = session.notices
    assert "the last 2 records" in notice


def notices_of(seen: MemoryReporter) -> list[str]:
    return [event.text for event in seen.events if event.type == "notice"]
