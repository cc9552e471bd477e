"""Reporters: each event reaches its method; one that fails hurts neither the run nor the others."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from claw import events as ev
from claw.errors import ConnectionLost
from claw.messages import ToolCall, ToolResult, Usage
from claw.reporter import DISPATCH, MemoryReporter, Muting, Reporter, Tee

CALL, RESULT = ToolCall("1", "bash"), ToolResult("1", "ok")
END = ev.RunResult(ev.RunStatus.COMPLETED)
RETRY = ev.Retrying(1, 2.5, ConnectionLost("the connection broke."))
EVERY_EVENT: list[tuple[ev.RunEvent, tuple[Any, ...]]] = [
    (ev.RunStarted("go"), ("on_run_start",)),
    (ev.TextDelta("a"), ("on_text_delta", "a")),
    (ev.ReasoningDelta("b"), ("on_reasoning_delta", "b")),
    (ev.TextComplete("a"), ("on_text_complete", "a")),
    (ev.ToolStarted(CALL), ("on_tool_call", CALL)),
    (ev.ToolProgress(CALL, "out"), ("on_tool_progress", CALL, "out")),
    (ev.ToolFinished(CALL, RESULT), ("on_tool_result", CALL, RESULT)),
    (ev.StepFinished(Usage(1, 2)), ("on_step", Usage(1, 2))),
    (ev.Notice("mended"), ("on_notice", "mended")),
    (RETRY, ("on_retrying", RETRY)),
    (ev.RunFinished(END), ("on_run_end", END)),
]


class Noting(Reporter):
    """Notes every call of an on_* method."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_") and name != "on_event":
            return lambda *arguments: self.heard.append((name, *arguments))
        return super().__getattribute__(name)


@pytest.mark.parametrize(("event", "heard"), EVERY_EVENT)
def test_an_event_reaches_its_method(event: ev.RunEvent, heard: tuple[Any, ...]) -> None:
    noting = Noting()
    noting.on_event(event)
    assert noting.heard == [heard]


class Notices(Reporter):
    def __init__(self) -> None:
        self.told: list[str] = []

    def on_notice(self, text: str) -> None:
        self.told.append(text)


def test_a_retry_is_a_notice_that_says_why_and_when_or_how() -> None:
    notices = Notices()
    notices.on_event(RETRY)
    notices.on_event(ev.Retrying(1, 0.0, RETRY.error, "without tools"))
    assert notices.told == [
        "the connection broke; trying again in 2.5 s (try 2)",
        "the connection broke; trying again without tools",
    ]


def test_the_base_class_ignores_everything() -> None:
    for event, _ in EVERY_EVENT:
        Reporter().on_event(event)
    assert {type(event) for event, _ in EVERY_EVENT} == set(DISPATCH)


class Raising(Reporter):
    def __init__(self, error: Exception) -> None:
        self.error, self.calls = error, 0

    def on_event(self, event: ev.RunEvent) -> None:
        self.calls += 1
        raise self.error


def test_one_that_raises_is_muted_until_the_next_run(caplog: pytest.LogCaptureFixture) -> None:
    raising = Raising(ValueError("broken display"))
    muting = Muting(raising)
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            muting.on_event(ev.TextDelta("a"))
    assert raising.calls == 1
    assert caplog.text.count("broken display") >= 1
    assert "Traceback" in caplog.text
    muting.on_event(ev.RunStarted("again"))
    assert raising.calls == 2


def test_a_tee_tells_all_and_one_that_raises_mutes_only_itself() -> None:
    memory, raising = MemoryReporter(), Raising(ValueError("broken display"))
    tee = Tee(raising, memory)
    for event, _ in EVERY_EVENT:
        tee.on_event(event)
    assert memory.events == [event for event, _ in EVERY_EVENT]
    assert memory.result == END


def test_a_closed_pipe_passes_a_tee_after_the_others_were_told() -> None:
    memory = MemoryReporter()
    with pytest.raises(BrokenPipeError):
        Tee(Raising(BrokenPipeError()), memory).on_event(ev.TextDelta("a"))
    assert memory.text == "a"


class Ticking(Reporter):
    def on_tick(self, elapsed_s: float, waiting_for: str) -> None:
        pass


def test_only_a_reporter_that_overrides_on_tick_wants_ticks() -> None:
    assert not Reporter().wants_ticks
    assert not Tee(MemoryReporter()).wants_ticks
    assert Ticking().wants_ticks
    assert Tee(MemoryReporter(), Ticking()).wants_ticks
