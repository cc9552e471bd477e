"""todo: the model's plan, whole each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claw import Engine, MemoryReporter, Session, deny_all
from claw.approval import Rules
from claw.events import ToolFinished
from claw.providers import ScriptedProvider, text_turn
from claw.providers.scripted import calls_turn
from claw.tools.todo import todo_tool


def item(text: str, status: str = "pending") -> dict[str, str]:
    return {"text": text, "status": status}


def play(
    session: Session, *plans: list[Any], folder: Path = Path("/")
) -> tuple[list[str], list[Any]]:
    """Results and details of the calls, all made in one reply; a question would be refused."""
    memory = MemoryReporter()
    engine = Engine(
        ScriptedProvider(calls_turn(*(("todo", {"items": plan}) for plan in plans)), text_turn()),
        tools=[todo_tool()],
        approver=Rules(deny_all, cwd=folder),
    )
    engine.run(session, "go", reporter=memory)
    details = [event.details for event in memory.events if isinstance(event, ToolFinished)]
    return [result.content for result in memory.tool_results], details


def test_a_plan_is_kept_echoed_and_told_to_reporters_unasked() -> None:
    session = Session()
    plan = [item("read it", "done"), item("mend it", "doing"), item("test it")]
    (text,), (details,) = play(session, plan)
    assert text == "1 of 3 done\n[x] read it\n[>] mend it\n[ ] test it"
    assert details == {"todo": plan}
    assert session.state("todo")["items"] == plan


def test_each_plan_takes_the_place_of_the_one_before_in_order() -> None:
    session = Session()
    plans: list[list[Any]] = [[item(f"step {n}")] for n in range(20)]
    texts, _ = play(session, *plans)
    assert texts == [f"0 of 1 done\n[ ] step {n}" for n in range(20)]
    assert session.state("todo")["items"] == plans[-1]


def test_an_empty_plan_and_a_cleared_conversation() -> None:
    session = Session()
    play(session, [item("a")])
    texts, details = play(session, [])
    assert (texts, details) == (["the plan is empty"], [{"todo": []}])
    play(session, [item("a")])
    session.clear()
    assert "items" not in session.state("todo")


def test_an_item_is_one_line() -> None:
    (text,), _ = play(Session(), [item(" one\n\ttwo  three ")])
    assert text == "0 of 1 done\n[ ] one two three"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ([item("x")] * 51, "a plan of 51 items is too long"),
        ([item("x" * 201)], "over 200 characters: xxx"),
        ([item(" \n")], "an item has no text"),
        ([item("x", "later")], "'later' is not one of"),
        ([{"text": "x"}], "'status' is a required property"),
    ],
)
def test_what_is_no_plan_is_refused_and_the_old_one_stays(plan: list[Any], words: str) -> None:
    session = Session()
    play(session, [item("old")])
    (text,), _ = play(session, plan)
    assert words in text
    assert session.state("todo")["items"] == [item("old")]
