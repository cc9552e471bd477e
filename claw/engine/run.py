"""Run: the record of one run, and how it is brought to an end in every case."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeAlias

from claw.cancel import CancelToken
from claw.engine.budget import Spending
from claw.engine.limits import Repeats, is_paused
from claw.engine.producer import Producer
from claw.engine.work import Work
from claw.errors import ClawError
from claw.events import CallSummary, RunEvent, RunResult, RunStatus, ToolFinished
from claw.messages import Message, ToolCall, ToolResult
from claw.session import Session
from claw.values import frozen

TICK_S = 0.5
TOOL_GRACE_S = 1.0
PRODUCER_GRACE_S = 0.25
CANCELS = (RunStatus.CANCELLED, RunStatus.DEADLINE)


@frozen
class Waiting:
    """Told between batches while nothing comes: for `Reporter.on_tick`."""

    elapsed_s: float
    waiting_for: str


Batch: TypeAlias = Sequence[RunEvent] | Waiting


class Run:
    """What one run knows. Touched by the engine's thread alone, but for `abandoned` and what
    `spending` says of itself.

    answer: the text of the last assistant message; where the server paused, that of all parts of
    the answer, which stay messages of their own in the history.
    """

    def __init__(
        self,
        session: Session,
        cancel: CancelToken | None,
        *,
        ticks: bool,
        spending: Spending | None = None,
    ) -> None:
        self.session = session
        self.token = CancelToken(parent=cancel)
        self.ticks = ticks
        self.steps = 0
        self.spending = spending or Spending()
        self.answer = ""
        self.shown: list[str] = []
        self.repeats = Repeats()
        self.works: Sequence[Work] = ()
        self.producer: Producer | None = None
        self.last: Message | None = None
        self.finished = False
        self.abandoned = False
        self.notices: Sequence[str] = ()
        self._summaries: list[CallSummary] = []
        self._started = time.monotonic()
        session.enter_run(self)

    @property
    def over(self) -> bool:
        return self.finished or self.abandoned

    def add_reply(self, message: Message) -> None:
        """A whole assistant message becomes part of the conversation."""
        self.session.append(message)
        goes_on = self.last is not None and is_paused(self.last)
        self.answer = self.answer + message.text if goes_on else message.text
        self.last = message
        self.shown.clear()

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """One tool message with all results, in the order of the calls."""
        calls = self.session.open_calls
        self.session.append(Message.tool(*results))
        self._summarise(calls, results)

    def close(self, status: RunStatus, error: ClawError | None = None) -> RunResult:
        """The result of a run that has come to its end: the session hears it, and is free again.
        Lines for the user are then in `notices`."""
        try:
            result = self._result(status, error)
            self.notices = self.session.run_ended(result)
        finally:
            self.finished = True
            self.token.detach()
        return result

    def _result(self, status: RunStatus, error: ClawError | None) -> RunResult:
        last = self.last
        self.spending.settle()
        return RunResult(
            status=status,
            stop_reason=last.stop_reason if last else None,
            stop_word=last.stop_word if last else "",
            text=self.answer,
            partial_text="".join(self.shown),
            steps=self.steps,
            usage=self.spending.usage,
            tool_calls=tuple(self._summaries),
            cancel_reason=self.token.reason if status in CANCELS else None,
            error=error,
            duration_s=round(time.monotonic() - self._started, 3),
            cost=self.spending.cost,
            session=self.session.id,
        )

    def stop(self) -> list[RunEvent]:
        """Ends what is still going and answers the open calls; returns what is left to tell.

        Waits for the tools of the calls (1 s together) and for the producer (0.25 s): a tool that
        is deaf to its token is left behind on its daemon thread, and its result says so.
        """
        self.token.cancel("stopped")
        end = time.monotonic() + TOOL_GRACE_S
        events: list[RunEvent] = []
        for work in self.works:
            if not work.told:
                result = work.settle(end)
                self.session.call_ended(work.call, result)
                events.append(ToolFinished(work.call, result, work.duration_s, work.details))
        self.works = ()
        if self.producer is not None:
            self.producer.join(PRODUCER_GRACE_S)
        calls = self.session.open_calls
        self._summarise(calls, self.session.close_open_calls())
        return events

    def _summarise(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        self._summaries += [
            CallSummary(call.id, call.name, call.arguments, result.is_error)
            for call, result in zip(calls, results, strict=True)
        ]
