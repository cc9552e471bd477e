"""A run that would never end by itself ends in good order: loops, steps, the clock."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from claw import (
    CancelToken,
    Decision,
    Engine,
    MemoryReporter,
    Message,
    RunStatus,
    Session,
    Tool,
    ToolCall,
    allow_all,
)
from claw.approval import Approver
from claw.engine.limits import canonical
from claw.events import Completed, RunResult, StreamEvent
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.providers.scripted import calls_turn
from claw.tools import coding_tools
from tests.support.processes import gone_within

ANYTHING = Tool("echo", "", {"type": "object"}, lambda arguments, context: str(arguments))


def play(
    *turns: Any,
    session: Session | None = None,
    tools: tuple[Tool, ...] = (ANYTHING,),
    **options: Any,
) -> tuple[RunResult, MemoryReporter]:
    memory = MemoryReporter()
    options = {"approver": allow_all, **options}
    engine = Engine(ScriptedProvider(*turns, text_turn("end")), tools=tools, **options)
    return engine.run(session or Session(), "go", reporter=memory), memory


def written(text: str) -> list[StreamEvent]:
    """A call whose arguments the model wrote like this."""
    return tool_turn("echo", **json.loads(text))


def unusable(raw: str) -> list[StreamEvent]:
    """A call whose arguments are no JSON."""
    call = ToolCall("bad", "echo", error="Expecting value", raw=raw)
    return [Completed(Message.assistant(call))]


SAME = {
    "the same": ['{"a": 1}'] * 3,
    "no arguments": ["{}"] * 3,
    "keys in another order": ['{"a": 1, "b": {"c": 2, "d": 3}}', '{"b": {"d": 3, "c": 2}, "a": 1}']
    * 2,
    "numbers written differently": [
        '{"a": [1, 2.50]}',
        '{"a": [1.0, 2.5]}',
        '{"a": [10e-1, 25e-1]}',
    ],
    "blanks and escapes": ['{"a":"\\u00e9"}', '{ "a" : "é" }', '{"a": "\\u00E9"}'],
}
DIFFERENT = {
    "a value": ['{"a": 1}', '{"a": 2}'] * 3,
    "true is not 1": ['{"a": 1}', '{"a": true}'] * 3,
    "text is not a number": ['{"a": 1}', '{"a": "1"}'] * 3,
    "the order of a list": ['{"a": [1, 2]}', '{"a": [2, 1]}'] * 3,
    "one more key": ['{"a": 1}', '{"a": 1, "b": null}'] * 3,
    "never three in a row": ['{"a": 1}', '{"a": 1}', '{"a": 2}'] * 3,
}


@pytest.mark.parametrize("arguments", SAME.values(), ids=SAME)
def test_the_third_identical_call_in_a_row_ends_the_run(arguments: list[str]) -> None:
    session = Session()
    result, memory = play(*map(written, arguments), session=session)
    assert (result.status, result.steps) == (RunStatus.LOOP, 3)
    assert [r.is_error for r in memory.tool_results] == [False, False, True]
    assert "the same call came three times in a row" in memory.tool_results[2].content
    again, _ = play(session=session)
    assert (again.status, again.text) == (RunStatus.COMPLETED, "end")


@pytest.mark.parametrize("arguments", DIFFERENT.values(), ids=DIFFERENT)
def test_calls_that_differ_are_no_loop(arguments: list[str]) -> None:
    result, _ = play(*map(written, arguments))
    assert result.status is RunStatus.COMPLETED


def test_unusable_arguments_count_too() -> None:
    result, memory = play(*[unusable('{"a": ')] * 5)
    assert (result.status, result.steps) == (RunStatus.LOOP, 3)
    assert all(r.is_error for r in memory.tool_results)
    result, _ = play(unusable('{"a'), unusable('{"b'), unusable('{"a'), unusable('{"b'))
    assert result.status is RunStatus.COMPLETED


def test_arguments_that_do_not_fit_and_tools_that_are_not_there_count_too() -> None:
    strict = Tool("echo", "", {"type": "object", "required": ["x"]}, lambda *unused: "")
    assert play(*[written("{}")] * 3, tools=(strict,))[0].status is RunStatus.LOOP
    assert play(*[tool_turn("nobody")] * 3)[0].status is RunStatus.LOOP


def test_another_tool_with_the_same_arguments_is_another_call() -> None:
    other = Tool("other", "", {"type": "object"}, lambda *unused: "")
    turns = [tool_turn("echo"), tool_turn("other")] * 3
    assert play(*turns, tools=(ANYTHING, other))[0].status is RunStatus.COMPLETED


def test_results_that_differ_do_not_hide_a_loop() -> None:
    numbers = count()
    clock = Tool("echo", "", {"type": "object"}, lambda *unused: f"it is {next(numbers)}")
    assert play(*[written("{}")] * 3, tools=(clock,))[0].status is RunStatus.LOOP


def test_three_in_one_reply_are_a_loop_too() -> None:
    ran = []
    noting = Tool("echo", "", {"type": "object"}, lambda args, context: str(ran.append(args)))
    result, memory = play(calls_turn(*[("echo", {"a": 1})] * 4), tools=(noting,))
    assert (result.status, result.steps, len(ran)) == (RunStatus.LOOP, 1, 2)
    assert [r.is_error for r in memory.tool_results] == [False, False, True]


@pytest.mark.parametrize("allowed", [True, False])
def test_whoever_is_asked_about_a_loop_decides_and_the_count_begins_anew(allowed: bool) -> None:
    asked: list[ToolCall] = []

    def on_repeat(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        asked.append(call)
        return Decision(allowed, "try something else")

    result, memory = play(*[written("{}")] * 7, on_repeat=on_repeat)
    assert result.status is RunStatus.COMPLETED
    assert len(asked) == 2
    errors = [r.is_error for r in memory.tool_results]
    assert errors == [False, False, not allowed, False, False, not allowed, False]
    if not allowed:
        assert memory.tool_results[2].content == "denied: try something else"


def test_canonical_arguments() -> None:
    assert canonical({"b": 1.0, "a": [True, {"d": None, "c": 2.5}]}) == (
        '{"a": [true, {"c": 2.5, "d": null}], "b": 1}'
    )


def test_max_steps_end_a_run_with_every_call_answered() -> None:
    session = Session()
    turns = [tool_turn("echo", n=n) for n in range(10)]
    result, memory = play(*turns, session=session, max_steps=3)
    assert (result.status, result.steps) == (RunStatus.MAX_STEPS, 3)
    assert [r.content for r in memory.tool_results] == [f"{{'n': {n}}}" for n in range(3)]
    assert session.open_calls == ()
    again, _ = play(session=session)
    assert (again.status, again.text) == (RunStatus.COMPLETED, "end")


def open_question(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
    cancel.wait()
    return Decision(True)


@pytest.mark.parametrize("approver", [allow_all, open_question], ids=["command", "question"])
def test_the_wall_clock_ends_a_run_in_good_order(approver: Approver, tmp_path: Path) -> None:
    token, memory = CancelToken(timeout=0.4), MemoryReporter()
    with Session() as session:
        engine = Engine(
            ScriptedProvider(
                calls_turn(("bash", {"command": "echo hi; sleep 402.01"}), ("list_files", {})),
                text_turn("fine"),
            ),
            tools=coding_tools(tmp_path),
            cwd=tmp_path,
            approver=approver,
        )
        result = engine.run(session, "go", cancel=token, reporter=memory)
        assert (result.status, result.cancel_reason) == (RunStatus.DEADLINE, "deadline")
        assert result.duration_s < 3
        assert gone_within(0.5, "402.01")
        assert [r.is_error for r in session.messages[-1].tool_results] == [True, True]
        assert [c.id for c in memory.tool_calls] == [r.call_id for r in memory.tool_results]
        engine.approver = allow_all
        assert engine.run(session, "again").text == "fine"


def test_a_look_at_something_that_changes_may_be_repeated() -> None:
    look = Tool("look", "", {"type": "object"}, lambda args, ctx: "x", may_repeat=True)
    engine = Engine(
        ScriptedProvider(*[tool_turn("look")] * 5, text_turn("done")),
        tools=[look],
        approver=allow_all,
    )
    assert engine.run(Session(), "go").status is RunStatus.COMPLETED
