"""Reporter: display, apart from tool execution. Tee and MemoryReporter are reporters too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claw import events as ev
from claw.log import log
from claw.messages import ToolCall, ToolResult, Usage


class Reporter:
    """Every method is a no-op but `on_event`, which calls the one that belongs to the event, and
    `on_retrying`, which makes a notice of it.

    Contract: all methods are called on the thread that called Engine.run, one after the other, and
    return nothing. A slow one delays that thread by its own time and no more. One that raises is
    logged once and muted for the rest of the run, which goes on; BrokenPipeError cancels the run.
    Override the on_* methods that you care for, or `on_event` alone to get everything.
    """

    def on_event(self, event: ev.RunEvent) -> None:
        """Gets every RunEvent."""
        if type(event) is ev.TextDelta:  # by far the most frequent
            self.on_text_delta(event.text)
            return
        dispatch = DISPATCH.get(type(event))
        if dispatch is not None:
            dispatch(self, event)

    def on_run_start(self) -> None:
        """Called first, once the prompt is in the history."""

    def on_text_delta(self, text: str) -> None:
        """Called with each piece of the answer, as it comes."""

    def on_text_complete(self, text: str) -> None:
        """Called with the whole answer, once it is in the history. See TextComplete."""

    def on_reasoning_delta(self, text: str) -> None:
        """Called with each piece of the model's thinking, as it comes."""

    def on_tool_call(self, call: ToolCall) -> None:
        """Called before a call is checked and asked about."""

    def on_tool_progress(self, call: ToolCall, text: str) -> None:
        """Called with live output of a running call."""

    def on_tool_result(self, call: ToolCall, result: ToolResult) -> None:
        """Called when a call has its result, in the order of the calls; a refusal is one, too."""

    def on_step(self, usage: Usage | None) -> None:
        """Called after each reply of the model, before its calls are run; see StepFinished."""

    def on_notice(self, text: str) -> None:
        """Called with one line for the user, at any time of a run."""

    def on_retrying(self, event: ev.Retrying) -> None:
        """Called when a request failed and is sent again: at once, or after `event.wait_s`."""
        self.on_notice(_retry_words(event))

    def on_run_end(self, result: ev.RunResult) -> None:
        """Called last, however the run ended; before `run` raises what it failed with."""

    def flush(self) -> None:
        """Called after each batch of events: the place to write what was gathered."""

    def on_tick(self, elapsed_s: float, waiting_for: str) -> None:
        """Called about twice a second while the engine waits, and only if overridden."""

    @property
    def wants_ticks(self) -> bool:
        return type(self).on_tick is not Reporter.on_tick


def _retry_words(event: ev.Retrying) -> str:
    failure = event.error.message.rstrip(".")
    how = event.remedy or f"in {event.wait_s:.1f} s (try {event.attempt + 1})"
    return f"{failure}; trying again {how}"


DISPATCH: dict[type, Callable[[Reporter, Any], None]] = {
    ev.TextDelta: lambda reporter, event: reporter.on_text_delta(event.text),
    ev.ReasoningDelta: lambda reporter, event: reporter.on_reasoning_delta(event.text),
    ev.Retrying: lambda reporter, event: reporter.on_retrying(event),
    ev.RunStarted: lambda reporter, event: reporter.on_run_start(),
    ev.TextComplete: lambda reporter, event: reporter.on_text_complete(event.text),
    ev.ToolStarted: lambda reporter, event: reporter.on_tool_call(event.call),
    ev.ToolProgress: lambda reporter, event: reporter.on_tool_progress(event.call, event.text),
    ev.ToolFinished: lambda reporter, event: reporter.on_tool_result(event.call, event.result),
    ev.StepFinished: lambda reporter, event: reporter.on_step(event.usage),
    ev.Notice: lambda reporter, event: reporter.on_notice(event.text),
    ev.RunFinished: lambda reporter, event: reporter.on_run_end(event.result),
}


class Muting(Reporter):
    """Keeps a reporter's exceptions out of the run: logs the first and mutes it until the next."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._muted = False

    def on_event(self, event: ev.RunEvent) -> None:
        if type(event) is ev.RunStarted:
            self._muted = False
        if self._muted:
            return
        try:
            self._reporter.on_event(event)
        except BrokenPipeError:
            raise  # the engine ends the run; a Tee goes on telling its others
        except Exception:
            self._mute()

    def flush(self) -> None:
        self._guarded(self._reporter.flush)

    def on_tick(self, elapsed_s: float, waiting_for: str) -> None:
        self._guarded(self._reporter.on_tick, elapsed_s, waiting_for)

    @property
    def wants_ticks(self) -> bool:
        return self._reporter.wants_ticks

    def _guarded(self, method: Callable[..., None], *arguments: Any) -> None:
        if self._muted:
            return
        try:
            method(*arguments)
        except BrokenPipeError:
            raise
        except Exception:
            self._mute()

    def _mute(self) -> None:
        self._muted = True
        name = type(self._reporter).__name__
        log().exception("%s raised; it is muted for the rest of this run", name)


class Tee(Reporter):
    """Several reporters in one. One that raises doesn't mute the others."""

    def __init__(self, *reporters: Reporter) -> None:
        self._reporters = [Muting(reporter) for reporter in reporters]

    def on_event(self, event: ev.RunEvent) -> None:
        self._each(lambda reporter: reporter.on_event(event))

    def flush(self) -> None:
        self._each(lambda reporter: reporter.flush())

    def on_tick(self, elapsed_s: float, waiting_for: str) -> None:
        self._each(lambda reporter: reporter.on_tick(elapsed_s, waiting_for))

    @property
    def wants_ticks(self) -> bool:
        return any(reporter.wants_ticks for reporter in self._reporters)

    def _each(self, action: Callable[[Reporter], None]) -> None:
        broken: BrokenPipeError | None = None
        for reporter in self._reporters:
            try:
                action(reporter)
            except BrokenPipeError as error:
                broken = error
        if broken is not None:
            raise broken


class MemoryReporter(Reporter):
    """Keeps everything, for tests: the events as they came, and the common views of them."""

    def __init__(self) -> None:
        self.events: list[ev.RunEvent] = []

    def on_event(self, event: ev.RunEvent) -> None:
        self.events.append(event)

    @property
    def text(self) -> str:
        """All text deltas, put together."""
        return "".join(event.text for event in self.events if isinstance(event, ev.TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ev.ReasoningDelta))

    @property
    def tool_calls(self) -> list[ToolCall]:
        return [event.call for event in self.events if isinstance(event, ev.ToolStarted)]

    @property
    def tool_results(self) -> list[ToolResult]:
        return [event.result for event in self.events if isinstance(event, ev.ToolFinished)]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, ev.Notice)]

    @property
    def result(self) -> ev.RunResult | None:
        """The last run's result; None while it goes on."""
        last = self.events[-1] if self.events else None
        return last.result if isinstance(last, ev.RunFinished) else None
