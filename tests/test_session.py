"""Session: both invariants hold after every append; what breaks them is refused or repaired."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.errors import HistoryError
from claw.messages import Message, TextBlock, ToolCall, ToolResult
from claw.session import NOT_RUN, UNKNOWN_OUTCOME, Session, orphan_results, repair, unanswered_calls

ASK = Message.assistant(ToolCall("a", "read_file"), ToolCall("b", "bash"))
ANSWER = Message.tool(ToolResult("a", "text"), ToolResult("b", "done"))


def asked() -> Session:
    session = Session()
    session.append(Message.user("go"))
    session.append(ASK)
    return session


def test_a_call_is_open_until_its_message_is_answered() -> None:
    session = asked()
    assert session.open_calls == ASK.tool_calls
    session.append(ANSWER)
    assert session.open_calls == ()
    assert session.messages == (Message.user("go"), ASK, ANSWER)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (Message.user("instead"), "a, b"),
        (Message.assistant(TextBlock("instead")), "a, b"),
        (Message.tool(ToolResult("a", "text")), "a, b"),
        (Message.tool(ToolResult("b", ""), ToolResult("a", "")), "a, b"),
        (Message.tool(ToolResult("a", ""), ToolResult("b", ""), ToolResult("c", "")), "a, b"),
    ],
)
def test_open_calls_take_nothing_but_their_answers(message: Message, named: str) -> None:
    session = asked()
    with pytest.raises(HistoryError, match=named):
        session.append(message)
    assert session.messages == (Message.user("go"), ASK)


def test_a_result_needs_its_call() -> None:
    session = Session([Message.user("go")])
    with pytest.raises(HistoryError, match="nowhere"):
        session.append(Message.tool(ToolResult("nowhere", "")))


def test_two_calls_of_one_message_must_differ() -> None:
    with pytest.raises(HistoryError, match="same"):
        Session().append(Message.assistant(ToolCall("same", "x"), ToolCall("same", "y")))


def test_open_calls_are_closed_as_far_as_they_are_known_to_have_come() -> None:
    calls = [ToolCall(name, "bash") for name in ("ended", "started", "waiting")]
    session = Session()
    session.append(Message.assistant(*calls))
    session.call_started(calls[0])
    session.call_ended(calls[0], ToolResult("ended", "fine"))
    session.call_started(calls[1])
    assert session.close_open_calls() == (
        ToolResult("ended", "fine"),
        ToolResult("started", UNKNOWN_OUTCOME, is_error=True),
        ToolResult("waiting", NOT_RUN, is_error=True),
    )
    assert session.open_calls == ()
    assert session.close_open_calls() == ()


def test_a_loaded_history_is_repaired_and_the_next_run_hears_of_it() -> None:
    session = Session([Message.user("go"), ASK, Message.tool(ToolResult("b", "done"))])
    assert session.messages[-1] == Message.tool(
        ToolResult("a", UNKNOWN_OUTCOME, is_error=True), ToolResult("b", "done")
    )
    assert any("a" in line for line in session.mend())
    assert session.mend() == []


ids = st.sampled_from("abcd")
any_message = st.one_of(
    st.builds(Message.user, st.text(max_size=3)),
    st.lists(ids, max_size=3).map(
        lambda names: Message.assistant(*(ToolCall(name, "x") for name in names))
    ),
    st.lists(ids, max_size=2).map(
        lambda names: Message("user", tuple(ToolResult(name, "misplaced") for name in names))
    ),
    st.lists(ids, max_size=3).map(
        lambda names: Message.tool(*(ToolResult(name, "r") for name in names))
    ),
)


@given(st.lists(any_message, max_size=8))
def test_repair_restores_both_invariants_and_keeps_what_was_whole(history: list[Message]) -> None:
    mended, notices = repair(history)
    assert unanswered_calls(mended) == []
    assert orphan_results(mended) == []
    texts = [m.text for m in history if m.role != "tool"]
    assert [m.text for m in mended if m.role != "tool"] == texts
    if not unanswered_calls(history) and not orphan_results(history):
        with_results = [m for m in history if m.role != "tool" or m.tool_results]
        assert (mended, notices) == (with_results, [])
    else:
        assert notices


class Closing:
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_closing_closes_what_the_tools_left_here() -> None:
    jobs, plain = Closing(), "no close()"
    with Session() as session:
        session.state("shell").update(jobs=jobs, plain=plain)
        assert session.state("shell")["jobs"] is jobs
    assert jobs.closed == 1
    session.close()
    assert jobs.closed == 1


def test_clear_forgets_the_conversation_and_closes_too() -> None:
    session, jobs = Session([Message.user("go")]), Closing()
    session.state("shell")["jobs"] = jobs
    session.clear()
    assert session.messages == ()
    assert jobs.closed == 1
