"""Read-only calls that stand together run together: how many, in which order, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from claw import (
    CancelToken,
    Decision,
    Engine,
    MemoryReporter,
    RunStatus,
    Session,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    allow_all,
)
from claw.providers import ScriptedProvider, text_turn
from claw.providers.scripted import calls_turn
from claw.tools.base import Arguments

PATIENCE_S = 20
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def reading(run: Callable[[Arguments, ToolContext], str], **options: Any) -> Tool:
    return Tool("read", "", SCHEMA, run, **{"read_only": True, **options})


def play(
    tools: list[Tool], *names: str, session: Session | None = None, **options: Any
) -> MemoryReporter:
    """One reply with a call of each name, `n` counting up from 0."""
    memory = MemoryReporter()
    calls = calls_turn(*((name, {"n": number}) for number, name in enumerate(names)))
    options = {"approver": allow_all, **options}
    cancel = options.pop("cancel", None)
    engine = Engine(ScriptedProvider(calls, text_turn("end")), tools=tools, **options)
    engine.run(session or Session(), "go", reporter=memory, cancel=cancel)
    return memory


def contents(memory: MemoryReporter) -> list[str]:
    return [result.content for result in memory.tool_results]


class Crowd:
    """Counts who is inside; lets nobody out before `size` were in together, or all have come."""

    def __init__(self, size: int) -> None:
        self.most = 0
        self._inside = 0
        self._size = size
        self._changed = threading.Condition()
        self._full = False

    def visit(self) -> None:
        with self._changed:
            self._inside += 1
            self.most = max(self.most, self._inside)
            self._full = self._full or self._inside >= self._size
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._full, PATIENCE_S)
            self._inside -= 1


def test_eight_run_together_and_never_more() -> None:
    crowd = Crowd(8)

    def look(arguments: Arguments, context: ToolContext) -> str:
        crowd.visit()
        return str(arguments["n"])

    memory = play([reading(look)], *["read"] * 30)
    assert contents(memory) == [str(n) for n in range(30)]
    assert crowd.most == 8


def test_results_come_in_the_order_of_the_calls_whichever_ends_first() -> None:
    ended = [threading.Event() for _ in range(6)]

    def last_first(arguments: Arguments, context: ToolContext) -> str:
        number = arguments["n"]
        if number < 5:
            assert ended[number + 1].wait(PATIENCE_S)
        ended[number].set()
        return str(number)

    session = Session()
    memory = play([reading(last_first)], *["read"] * 6, session=session)
    assert contents(memory) == list("012345")
    answers = session.messages[-2].tool_results
    assert [answer.content for answer in answers] == list("012345")


def test_each_failure_is_its_own() -> None:
    meeting = threading.Barrier(4, timeout=PATIENCE_S)

    def look(arguments: Arguments, context: ToolContext) -> str:
        meeting.wait()
        if arguments["n"] == 1:
            raise ToolError("not there")
        if arguments["n"] == 2:
            raise ValueError("broken")
        return "fine"

    memory = play([reading(look)], *["read"] * 4)
    assert [r.is_error for r in memory.tool_results] == [False, True, True, False]
    assert contents(memory)[1] == "not there"
    assert "ValueError: broken" in contents(memory)[2]


def test_one_refusal_leaves_the_others_to_run() -> None:
    def all_but_one(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        return Decision(call.arguments["n"] != 1, "not this one")

    memory = play([reading(lambda args, ctx: "fine")], *["read"] * 3, approver=all_but_one)
    assert contents(memory) == ["fine", "denied: not this one", "fine"]


def test_all_are_asked_about_in_order_on_the_engines_thread_before_any_runs() -> None:
    happened: list[Any] = []

    def approver(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        happened.append((call.arguments["n"], threading.current_thread()))
        return Decision(True)

    def look(arguments: Arguments, context: ToolContext) -> str:
        happened.append("ran")
        return ""

    play([reading(look)], *["read"] * 3, approver=approver)
    mine = threading.current_thread()
    assert happened == [(0, mine), (1, mine), (2, mine), "ran", "ran", "ran"]


def test_a_call_that_may_change_something_stands_between() -> None:
    happened: list[str] = []

    def note(arguments: Arguments, context: ToolContext) -> str:
        happened.append(f"{context.call.name}{arguments['n']}")
        return ""

    write = Tool("write", "", SCHEMA, note)
    play([reading(note), write], "read", "write", "read", "read", "write", "write", "read")
    assert happened[:2] == ["read0", "write1"]
    assert set(happened[2:4]) == {"read2", "read3"}
    assert happened[4:] == ["write4", "write5", "read6"]


def test_a_tool_of_the_callers_thread_joins_nobody() -> None:
    running: list[int] = []

    def alone(arguments: Arguments, context: ToolContext) -> str:
        assert threading.current_thread() is threading.main_thread()
        return f"{len(running)} beside me"

    def look(arguments: Arguments, context: ToolContext) -> str:
        running.append(1)
        running.pop()
        return "read"

    mine = Tool("mine", "", SCHEMA, alone, read_only=True, caller_thread=True)
    memory = play([reading(look), mine], "read", "mine", "read", "mine")
    assert contents(memory) == ["read", "0 beside me", "read", "0 beside me"]


@pytest.mark.parametrize("count", [3, 12])
def test_one_cancel_ends_all_of_them_and_those_behind(count: int) -> None:
    token = CancelToken()
    together = min(count, 8)
    meeting = threading.Barrier(together, action=token.cancel, timeout=PATIENCE_S)

    def look(arguments: Arguments, context: ToolContext) -> str:
        meeting.wait()
        assert context.cancel.wait(PATIENCE_S)
        context.cancel.raise_if_cancelled()
        return "never"

    session = Session()
    memory = play([reading(look)], *["read"] * count, session=session, cancel=token)
    assert memory.result is not None
    assert memory.result.status is RunStatus.CANCELLED
    answers = [result.content for result in session.messages[-1].tool_results]
    assert answers[:together] == ["interrupted"] * together
    assert all(answer.startswith("not run") for answer in answers[together:])
    assert len(answers) == count
