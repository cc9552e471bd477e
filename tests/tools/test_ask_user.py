"""ask_user: the model's own questions."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from claw import CancelToken, Engine, MemoryReporter, RunStatus, Session, deny_all
from claw.approval import Rules
from claw.errors import Cancelled
from claw.events import RunResult
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.tools.ask_user import AskUser, ask_user_tool


def play(ask: AskUser | None, **arguments: Any) -> tuple[str, bool, RunResult]:
    """The result of one question, and of the run; an approval question would be refused."""
    memory = MemoryReporter()
    engine = Engine(
        ScriptedProvider(tool_turn("ask_user", **arguments), text_turn("ok")),
        tools=[ask_user_tool(ask)],
        approver=Rules(deny_all, cwd=Path("/")),
    )
    result = engine.run(Session(), "go", reporter=memory)
    (answer,) = memory.tool_results
    return answer.content, answer.is_error, result


def test_the_answer_is_the_result_and_the_question_is_put_on_the_callers_thread() -> None:
    asked = []

    def ask(question: str, options: tuple[str, ...], cancel: CancelToken) -> str:
        asked.append((question, options, cancel.cancelled, threading.current_thread()))
        return options[1]

    content, is_error, result = play(ask, question=" Which one? ", options=["a", " b\n c "])
    assert (content, is_error) == ("b c", False)
    assert asked == [("Which one?", ("a", "b c"), False, threading.current_thread())]
    assert result.status is RunStatus.COMPLETED


def test_a_question_needs_no_options() -> None:
    content, _, _ = play(lambda question, options, cancel: f"{options}", question="Why?")
    assert content == "()"


def test_no_answer_is_said() -> None:
    content, is_error, _ = play(lambda *unused: "", question="Why?")
    assert content.startswith("the user gave no answer")
    assert not is_error


def test_without_anybody_there_it_is_refused_and_the_run_goes_on() -> None:
    content, is_error, result = play(None, question="Why?")
    assert content.startswith("nobody is there to answer: decide by yourself")
    assert is_error
    assert (result.status, result.text) == (RunStatus.COMPLETED, "ok")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"question": "?", "options": list("abcdefg")}, "7 options are too many: 6 at most"),
        ({"question": "?", "options": ["a", " a"]}, "two options are the same"),
        ({"question": "?", "options": [" "]}, "an option is one line"),
        ({"question": "?", "options": ["x" * 201]}, "an option is one line"),
        ({"question": "\n"}, "a question has 1 to 2,000 characters"),
        ({"question": "x" * 2001}, "a question has 1 to 2,000 characters"),
    ],
)
def test_what_is_no_question_is_refused_unasked(arguments: Any, words: str) -> None:
    def ask(question: str, options: tuple[str, ...], cancel: CancelToken) -> str:
        raise AssertionError("asked in vain")

    content, is_error, _ = play(ask, **arguments)
    assert is_error
    assert words in content


def test_a_cancel_while_it_is_open_ends_the_run() -> None:
    def ask(question: str, options: tuple[str, ...], cancel: CancelToken) -> str:
        cancel.cancel("interrupt")
        raise Cancelled(reason="interrupt")

    content, is_error, result = play(ask, question="Why?")
    assert (content, is_error) == ("interrupted", True)
    assert result.status is RunStatus.CANCELLED
