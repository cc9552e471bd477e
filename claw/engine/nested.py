"""A run within a run: one call of the outer run is a whole run of its own.

The engine plays it on its own thread, batch by batch. So the approver is asked where it is always
asked, `caller_thread` tools work, a cancel of the outer run is seen by the inner one at the same
wait, and no two threads have to agree on how both of them end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import field
from typing import TYPE_CHECKING

from claw.engine.nested_lines import Lines
from claw.engine.run import CANCELS, Batch, Run, Waiting
from claw.engine.work import Work
from claw.errors import Cancelled, ProviderError
from claw.events import RunResult, RunStatus, StepFinished, ToolProgress
from claw.messages import ToolCall, Usage
from claw.session import Session
from claw.tools.base import Tool, ToolOutput
from claw.values import frozen

if TYPE_CHECKING:
    from claw.engine.engine import Engine

ENDINGS = {
    RunStatus.TRUNCATED: "its answer was cut short by the output limit",
    RunStatus.REFUSED: "the model or its filter refused to answer",
    RunStatus.MAX_STEPS: "it used up its steps",
    RunStatus.BUDGET: "the budget is used up",
    RunStatus.LOOP: "it made the same call three times in a row",
    RunStatus.NEEDS_APPROVAL: "it needed an approval, and there was nobody to ask",
    RunStatus.CANCELLED: "it used up its tokens",  # a cancel of both runs is another matter
}
ENDS_BOTH = (RunStatus.BUDGET, RunStatus.NEEDS_APPROVAL)


@frozen
class NestingTool(Tool):
    """A tool whose call the engine answers with a run of its own, on the argument `prompt`.

    inner: makes the inner run's engine of the outer run's. token_limit: tokens, in and out, that
    the inner run may take; where a reply passes them, its calls are not run.

    Contract: the engine never calls `run`. `inner` is called on the engine's thread, must be quick,
    and returns a new Engine; what it raises ends the outer run, and is raised by it.
    """

    inner: Callable[[Engine], Engine] = field(kw_only=True)
    token_limit: int = field(kw_only=True)


class NestedRun:
    """The inner run of one call, in a fresh session. Touched by the engine's thread alone.

    over_limit: it was ended because it had used up its tokens.
    """

    def __init__(self, outer: Run, tool: NestingTool, engine: Engine, call: ToolCall) -> None:
        inner, prompt = tool.inner(engine), call.arguments["prompt"]
        inner.charge_to = outer.spending
        self.over_limit = False
        self._limit = tool.token_limit
        self._used = Usage()
        self._session = Session()
        self._stream = inner.start(self._session, prompt, outer.token, ticks=outer.ticks)
        self._closed = False

    def batches(self) -> Generator[Batch, None, None]:
        """What happens in it, to its end. Raises what it failed with."""
        for batch in self._stream.batches():
            yield batch
            self._count(batch)

    @property
    def result(self) -> RunResult:
        """How it ended; only once it is over."""
        assert self._stream.result is not None
        return self._stream.result

    def close(self) -> None:
        """Ends it if it isn't over, and what its calls left running. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._stream.close()
        self._session.close()

    def _count(self, batch: Batch) -> None:
        """A whole answer stands, whatever it took: only a run that would go on is ended."""
        if isinstance(batch, Waiting):
            return
        for event in batch:
            if isinstance(event, StepFinished):
                self._used += event.usage or Usage()
        used = self._used.input_tokens + self._used.output_tokens
        if used > self._limit and self._session.open_calls:
            self.over_limit = True
            self._stream.close()


def play(run: Run, engine: Engine, work: Work) -> Generator[Batch, None, RunStatus | None]:
    """Answers the call of a NestingTool. Returns the status that ends the outer run, or None.

    Has no `finally`, as the engine's loop: if it is dropped, `Run.stop` closes the inner run.
    """
    assert isinstance(work.tool, NestingTool)
    started, lines = time.monotonic(), Lines()
    nested = work.nested = NestedRun(run, work.tool, engine, work.call)
    try:
        for batch in nested.batches():
            if isinstance(batch, Waiting):
                yield Waiting(batch.elapsed_s, f"{work.call.name}: {batch.waiting_for}")
                continue
            for event in batch:
                lines.on_event(event)
            if text := lines.take():
                work.output.write(text)
                yield [ToolProgress(work.call, *work.output.take())]
    except ProviderError:
        pass  # the model is told; its own next request may fare better
    nested.close()
    result = nested.result
    if result.status in CANCELS and not nested.over_limit:
        run.token.raise_if_cancelled()  # a deadline is the outer run's to notice, too
        raise Cancelled(reason=result.cancel_reason or "cancelled")
    work.duration_s = time.monotonic() - started
    work.result = work.take(_output(result))
    return result.status if result.status in ENDS_BOTH else None


def _output(result: RunResult) -> ToolOutput:
    """What the outer model is told: the text alone, or why there is none."""
    details = {
        "status": result.status.value,
        "steps": result.steps,
        "usage": result.usage.to_dict(),
    }
    if result.status is RunStatus.COMPLETED and result.text:
        return ToolOutput(result.text, details=details)
    words = result.error.message if result.error else ENDINGS.get(result.status, "it said nothing")
    said = f"; its last words:\n{result.text}" if result.text else ""
    return ToolOutput(f"not done: {words}{said}", is_error=True, details=details)
