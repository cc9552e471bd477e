"""A run as lines: on a terminal and in a log, with and without the answer's text."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

from claw import Engine, RunStatus, Session, ToolCall, ToolResult, Usage, allow_all, tool
from claw.cli.plain import PlainReporter
from claw.cli.reporting import reporter_for
from claw.cli.style import Role
from claw.engine.task import task_tool
from claw.errors import ConnectionLost
from claw.events import ReasoningDelta, Retrying, RunResult
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.reporter import Reporter

CALL = ToolCall("1", "bash", {"command": "pytest -q"})


def plain(stream: io.StringIO, **options: Any) -> PlainReporter:
    return PlainReporter(stream, **{"show_text": True, "width": lambda: 60, **options})


def lines(tell: Any, **options: Any) -> str:
    """What a reporter writes while `tell` tells it things."""
    stream = io.StringIO()
    reporter = plain(stream, **options)
    reporter.on_run_start()
    tell(reporter)
    reporter.flush()
    return stream.getvalue()


@tool
def look(path: str) -> str:
    """Looks."""
    return "\n".join(f"line {n} of {path}" for n in range(1, 21))


def test_a_whole_run() -> None:
    stream = io.StringIO()
    provider = ScriptedProvider(tool_turn("look", path="a.txt"), text_turn("It has ", "20 lines."))
    engine = Engine(provider, tools=[look], approver=allow_all, reporter=plain(stream))
    engine.run(Session(), "look")
    text = stream.getvalue()
    assert text.startswith(
        "* look a.txt\n"
        "  line 1 of a.txt\n  line 2 of a.txt\n  line 3 of a.txt\n  line 4 of a.txt\n"
        "  ... 14 more lines\n"
        "  line 19 of a.txt\n  line 20 of a.txt\n"
        "\n"
        "It has 20 lines.\n"
        "\n"
        "[2 steps, "
    )


TASK = tool_turn("task", description="find it", prompt="Find it in a.txt.")


@pytest.mark.parametrize("quiet", [False, True])
def test_what_a_sub_agent_does_is_shown_indented(quiet: bool) -> None:
    stream = io.StringIO()
    turns = (
        TASK,
        tool_turn("peek", path="\x1b[2Ja" + "b" * 80),
        text_turn("Gone."),
        text_turn("Done."),
    )
    peek = replace(look, name="peek", read_only=True)
    engine = Engine(ScriptedProvider(*turns), tools=[peek, task_tool()], approver=allow_all)
    engine.run(Session(), "look", reporter=plain(stream, quiet=quiet))
    shown = f"* task find it prompt=Find it in a.txt.\n  * peek a{'b' * 47}...\n  Gone.\n\n"
    assert stream.getvalue().startswith("Done.\n" if quiet else f"{shown}Done.\n")


def test_live_output_of_a_command_is_left_to_its_result() -> None:
    assert lines(lambda reporter: reporter.on_tool_progress(CALL, "collecting\n")) == ""


def test_without_show_text_the_answer_is_left_to_others() -> None:
    def tell(reporter: Reporter) -> None:
        reporter.on_text_delta("the answer")
        reporter.on_text_complete("the answer")
        reporter.on_tool_call(CALL)

    assert lines(tell, show_text=False) == "* bash pytest -q\n"


def test_a_provider_that_does_not_stream_is_shown_once() -> None:
    def whole(reporter: Reporter) -> None:
        reporter.on_text_complete("the answer")

    def streamed(reporter: Reporter) -> None:
        reporter.on_text_delta("the answer")
        reporter.on_text_complete("the answer")

    assert lines(whole) == lines(streamed) == "the answer\n"


def test_quiet_tells_the_answer_and_what_went_wrong() -> None:
    def tell(reporter: Reporter) -> None:
        reporter.on_tool_call(CALL)
        reporter.on_tool_result(CALL, ToolResult("1", "ok"))
        reporter.on_text_complete("done")
        reporter.on_run_end(RunResult(RunStatus.MAX_STEPS, steps=3))

    assert lines(tell, quiet=True).split("\n\n") == [
        "done",
        "[stopped: the limit of steps is reached (--max-steps)]\n",
    ]


def test_results_that_come_beside_others_name_their_call() -> None:
    calls = [ToolCall(str(n), "look", {"path": f"{n}.txt"}) for n in (1, 2)]

    def tell(reporter: Reporter) -> None:
        for call in calls:
            reporter.on_tool_call(call)
        for call in calls:
            reporter.on_tool_result(call, ToolResult(call.id, f"content of {call.id}"))

    assert lines(tell) == (
        "* look 1.txt\n* look 2.txt\n* look 1.txt\n  content of 1\n* look 2.txt\n  content of 2\n"
    )


ENDINGS = [
    (
        RunResult(RunStatus.CANCELLED, cancel_reason="interrupt", partial_text="Once"),
        "[interrupted: the unfinished text above isn't part of the conversation]",
    ),
    (RunResult(RunStatus.CANCELLED, cancel_reason="interrupt"), "[interrupted]"),
    (
        RunResult(RunStatus.ERROR, error=ConnectionLost("gone"), partial_text="Once", steps=1),
        "[the unfinished text above isn't part of the conversation]",
    ),
    (
        RunResult(RunStatus.COMPLETED, steps=1, usage=Usage(1234, 56), duration_s=3.21),
        "[1 step, 1,234 tokens in, 56 out, 3.2 s]",
    ),
    (RunResult(RunStatus.COMPLETED, steps=2, duration_s=0.04), "[2 steps, 0.0 s]"),
]


@pytest.mark.parametrize(("result", "line"), ENDINGS)
def test_how_it_ended(result: RunResult, line: str) -> None:
    def tell(reporter: Reporter) -> None:
        reporter.on_text_delta("Once")
        reporter.on_run_end(result)

    assert lines(tell) == f"Once\n\n{line}\n"


def test_hostile_text_of_model_and_tools_is_filtered() -> None:
    call = ToolCall("1", "ba\x1b[2Ksh", {"command": "a\x1b]0;t\x07b\rc"})

    def tell(reporter: Reporter) -> None:
        for piece in ("safe \x1b", "]52;c;cm0g", "LXJmIH4K\x07 words\u202e"):
            reporter.on_text_delta(piece)
        reporter.on_tool_call(call)
        reporter.on_tool_result(call, ToolResult("1", "\x1b[31mred\x1b[0m\x9b2J"))
        reporter.on_notice("a\x1b[6nb")

    text = lines(tell)
    assert not set(text) & set("\x1b\x07\x9b\u202e\r")
    assert "safe  words" in text
    assert "  red\n" in text
    assert "note: ab\n" in text


def test_long_arguments_and_lines_are_cut_to_the_terminal() -> None:
    call = ToolCall("1", "bash", {"command": "echo " + "x" * 500 + "\nsecond", "timeout_s": 5})

    def tell(reporter: Reporter) -> None:
        reporter.on_tool_call(call)
        reporter.on_tool_result(call, ToolResult("1", "漢" * 100))

    for line in lines(tell).splitlines():
        assert line.endswith("...")
        assert len(line.replace("漢", "漢漢")[:70]) <= 60


def test_a_diff_is_shown_whole_and_painted() -> None:
    diff = "edited a: 1 replacement\n--- a/a\n+++ b/a\n@@ -1,30 +1,30 @@\n"
    diff += "".join(f"-old {n}\n+new {n}\n" for n in range(30))

    def paint(text: str, role: Role) -> str:
        return f"<{role}>{text}</>"

    def tell(reporter: Reporter) -> None:
        reporter.on_tool_result(CALL, ToolResult("1", diff))

    text = lines(tell, paint=paint)
    assert "<added>+new 29</>" in text
    assert "<removed>-old 0</>" in text
    assert "<dim>+++ b/a</>" in text
    assert "more lines" not in text


def test_an_error_and_no_output_are_told_apart() -> None:
    def paint(text: str, role: Role) -> str:
        return f"<{role}>{text}</>"

    def tell(reporter: Reporter) -> None:
        reporter.on_tool_result(CALL, ToolResult("1", "no such file", is_error=True))
        reporter.on_tool_result(CALL, ToolResult("1", ""))

    text = lines(tell, paint=paint)
    assert "<error>  no such file</>" in text
    assert "<dim>  (no output)</>" in text


def test_thinking_is_shown_only_where_it_can_be_told_from_the_answer() -> None:
    def tell(reporter: Reporter) -> None:
        reporter.on_event(ReasoningDelta("hmm"))
        reporter.on_text_delta("Yes")

    assert lines(tell) == "Yes"
    assert lines(tell, show_reasoning=True) == "hmm\n\nYes"


def test_thinking_ends_before_somebody_elses_text_begins() -> None:
    def tell(reporter: Reporter) -> None:
        reporter.on_event(ReasoningDelta("hmm"))
        reporter.on_text_delta("Yes")
        reporter.on_text_complete("Yes")
        reporter.on_tool_call(CALL)

    text = lines(tell, show_text=False, show_reasoning=True)
    assert text == "hmm\n\n\n* bash pytest -q\n"


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_waiting_indicator_is_erased_before_anything_else() -> None:
    stream = FakeTerminal()
    reporter = plain(stream, live=True)
    reporter.on_run_start()
    reporter.on_tick(0.5, "the first token")
    reporter.on_tick(1.0, "the first token")
    reporter.on_tick(1.5, "the first token")
    reporter.on_text_delta("Hi")
    reporter.flush()
    reporter.on_tick(0.5, "the reply")  # in the middle of a line there is no room for it
    assert stream.getvalue() == (
        "\r\x1b[Kwaiting for the first token, 0 s\r\x1b[Kwaiting for the first token, 1 s\r\x1b[KHi"
    )


def test_a_wait_before_the_next_try_is_counted_down() -> None:
    stream = FakeTerminal()
    reporter = plain(stream, live=True)
    reporter.on_event(Retrying(1, 60.0, ConnectionLost("gone")))
    reporter.flush()
    reporter.on_tick(0.5, "the first token")
    assert stream.getvalue() == (
        "note: gone; trying again in 60.0 s (try 2)\n"
        "\r\x1b[Ktrying again in 60 s (Ctrl-C ends the turn)"
    )
    reporter.on_event(Retrying(2, 0.0, ConnectionLost("gone"), "without tools"))
    reporter.flush()
    reporter.on_tick(1.0, "the first token")
    assert stream.getvalue().endswith(
        "\r\x1b[Knote: gone; trying again without tools\n\r\x1b[Kwaiting for the first token, 1 s"
    )


def test_beside_somebody_elses_text_it_is_erased_at_once() -> None:
    stream = FakeTerminal()
    reporter = plain(stream, live=True, show_text=False)
    reporter.on_tick(2, "the first token")
    reporter.on_text_delta("Hi")
    assert stream.getvalue().endswith("2 s\r\x1b[K")


@pytest.mark.parametrize(
    ("stream", "term", "ticks"),
    [
        (io.StringIO(), "xterm", False),
        (FakeTerminal(), "dumb", False),
        (FakeTerminal(), "xterm", True),
    ],
)
def test_nothing_decorative_goes_into_a_pipe_or_to_a_dumb_terminal(
    stream: io.StringIO, term: str, ticks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    reporter = reporter_for(stream, show_text=True, color=True)
    assert reporter.wants_ticks is ticks
    reporter.on_tool_call(CALL)
    reporter.flush()
    assert ("\x1b" in stream.getvalue()) is ticks


def test_no_color_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = FakeTerminal()
    reporter = reporter_for(stream, show_text=True, color=False)
    reporter.on_tool_call(CALL)
    reporter.flush()
    assert stream.getvalue() == "* bash pytest -q\n"


def test_a_terminal_without_utf8_gets_question_marks() -> None:
    raw = io.BytesIO()
    reporter = plain(io.TextIOWrapper(raw, encoding="ascii"))
    reporter.on_text_delta("naïve 漢\n")
    reporter.flush()
    assert raw.getvalue() == b"na?ve ?\n"


def test_a_plan_is_shown_whole_and_not_twice() -> None:
    items = [{"text": f"step {n} of the plan", "status": "pending"} for n in range(12)]
    call = ToolCall("1", "todo", {"items": items})
    plan = "0 of 12 done\n" + "\n".join(f"[ ] step {n} of the plan" for n in range(12))

    def tell(reporter: Reporter) -> None:
        reporter.on_tool_call(call)
        reporter.on_tool_result(call, ToolResult("1", plan))

    assert lines(tell) == "* todo\n" + "".join(f"  {line}\n" for line in plan.split("\n"))


def test_what_a_call_hides_is_spelled() -> None:
    call = ToolCall("1", "bash", {"command": "ls \x1b[8m; x\u202e\u200b"})
    assert lines(lambda reporter: reporter.on_tool_call(call)) == (
        "* bash ls <U+001B>[8m; x<U+202E><U+200B>\n"
    )
