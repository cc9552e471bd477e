"""The calls of one reply: judged in order, run, told, and answered by one tool message."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from claw.approval import Approver, Decision
from claw.channel import Channel
from claw.engine.limits import CALLS_OF_A_REPLY, calls_are_whole
from claw.engine.nested import NestingTool, play
from claw.engine.run import TICK_S, Batch, Run, Waiting
from claw.engine.work import LiveOutput, Work
from claw.errors import ToolError
from claw.events import Notice, RunEvent, RunStatus, ToolFinished, ToolProgress, ToolStarted
from claw.messages import Message
from claw.session import NOT_RUN
from claw.tools.base import PreviewFunction, Tool, ToolContext, ToolRegistry
from claw.tools.schema import problem_with
from claw.values import frozen

if TYPE_CHECKING:
    from claw.engine.engine import Engine

TOGETHER = 8
ENDING_WORDS = {
    RunStatus.LOOP: "not run: the same call came three times in a row, so the turn was ended",
    RunStatus.NEEDS_APPROVAL: "not run: approval was needed, and there was nobody to ask",
}
TOO_MANY = f"not run: too many calls in one reply, {CALLS_OF_A_REPLY} at most"

News: TypeAlias = tuple[Work, bool]
"""A work has output to take (False), or has its result (True)."""


@frozen
class CallSetup:
    """What the engine's owner decided about calls."""

    engine: Engine
    tools: ToolRegistry
    approver: Approver
    on_repeat: Approver | None
    cwd: Path
    env: Mapping[str, str]


def answer_calls(
    run: Run, setup: CallSetup, message: Message
) -> Generator[Batch, None, RunStatus | None]:
    """Answers every call of `message`; returns the status that ends the run, or None.

    Calls run in order, one after the other; read-only ones that stand together run together. All
    calls of a group are judged and asked about before the first of them runs. Those beyond
    CALLS_OF_A_REPLY are refused.
    """
    works = [Work(call, setup.tools.get(call.name)) for call in message.tool_calls]
    if not calls_are_whole(message):
        for work in works:
            work.refuse(_cut_words(message))
            yield [ToolStarted(work.call), _finished(work)]
    elif beyond := works[CALLS_OF_A_REPLY:]:
        for work in beyond:  # not told one by one: there may be thousands
            work.refuse(TOO_MANY)
        words = f"the model made {len(works):,} calls in one reply"
        yield [Notice(f"{words}: those after the first {CALLS_OF_A_REPLY} are not run")]
    end: RunStatus | None = None
    for group in _groups([work for work in works if work.result is None]):
        if end is None:
            run.works = group
            end = yield from _judge_all(run, setup, group)
            end = (yield from _run_all(run, setup, group)) or end
    run.works = ()
    run.add_results([work.result or work.failure(NOT_RUN) for work in works])
    return end


def _groups(works: Sequence[Work]) -> Iterator[Sequence[Work]]:
    """Stretches of read-only calls, 8 at most; every other call by itself."""
    stretch: list[Work] = []
    for work in works:
        together = work.tool is not None and work.tool.read_only and not work.tool.caller_thread
        if stretch and (not together or len(stretch) == TOGETHER):
            yield stretch
            stretch = []
        stretch.append(work)
        if not together:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _judge_all(
    run: Run, setup: CallSetup, works: Sequence[Work]
) -> Generator[Batch, None, RunStatus | None]:
    """Asks about each call in turn; once one ends the run, it and those after it are not run."""
    end: RunStatus | None = None
    for work in works:
        if end is None:
            yield [ToolStarted(work.call)]
            end = _judge(run, setup, work)
        else:
            work.told = True  # never begun, so nothing is told of its end
        if end is not None:
            work.refuse(ENDING_WORDS.get(end, NOT_RUN))
    return end


def _judge(run: Run, setup: CallSetup, work: Work) -> RunStatus | None:
    """Refuses the call where it must not run. Returns the status that ends the run, if one does."""
    refusal: str | RunStatus | None = _fault(work, setup.tools)
    repeated = run.repeats.too_many(work.call)
    if repeated and not (work.tool and work.tool.may_repeat):
        if setup.on_repeat is None:
            refusal = RunStatus.LOOP
        elif refusal is None:
            refusal = _ask(run, setup, setup.on_repeat, work)
    refusal = refusal or _ask(run, setup, setup.approver, work)
    if isinstance(refusal, RunStatus):
        return refusal
    if refusal is not None:
        work.refuse(refusal)
    return None


def _fault(work: Work, tools: ToolRegistry) -> str | None:
    """Why the call can't be run at all, in words the model can act on."""
    call, tool = work.call, work.tool
    if tool is None:
        known = ", ".join(tools.names) or "none"
        return f"there is no tool named {call.name!r}; the tools are: {known}"
    if call.error is not None:
        return f"the arguments are not usable: {call.error}. They began: {call.raw[:200]}"
    problem = problem_with(call.arguments, tool.parameters)
    return f"wrong arguments for {call.name}: {problem}" if problem else None


def _ask(run: Run, setup: CallSetup, approver: Approver, work: Work) -> str | RunStatus | None:
    """None when allowed, else the words of the refusal, or the status that ends the run."""
    try:
        decision = approver(work.call, _as_asked(run, setup, work), run.token)
    except ToolError as error:
        return error.message  # its preview found that the call can't work
    run.token.raise_if_cancelled()
    if not isinstance(decision, Decision):
        raise TypeError(f"an approver must return a Decision, not {decision!r}")
    if decision.end is not None:
        return decision.end
    if decision.allowed:
        return None
    return f"denied: {decision.reason}" if decision.reason else "denied"


def _run_all(
    run: Run, setup: CallSetup, works: Sequence[Work]
) -> Generator[Batch, None, RunStatus | None]:
    """Runs what was not refused. Tells output as it comes, results in the order of the calls.
    Returns the status that ends the run, or None."""
    end: RunStatus | None = None
    since = time.monotonic()
    # Two items a call at most, so that no tool ever waits for the reporter.
    news: Channel[News] = Channel(2 * len(works), run.token)
    for work in works:
        if isinstance(work.tool, NestingTool) and work.result is None:
            run.session.call_started(work.call)
            end = yield from play(run, setup.engine, work)
            _ended(run, work)
        elif work.result is None:
            _start(run, setup, work, news)
        else:
            _ended(run, work)
    while True:
        for work in works:
            if not work.ended:
                break
            if not work.told:
                work.told = True
                yield [*_progress(work), _finished(work)]
        running = [work for work in works if not work.told]
        if not running:
            news.close()
            return end
        heard = news.recv_many(TICK_S if run.ticks else None)
        if heard is None:
            names = ", ".join(work.call.name for work in running)
            yield Waiting(time.monotonic() - since, names)
            continue
        for work, has_result in heard:
            if has_result:
                _ended(run, work)
        output = [event for work, _ in heard if not work.ended for event in _progress(work)]
        if output:
            yield output


def _as_asked(run: Run, setup: CallSetup, work: Work) -> Tool:
    """The tool as an approver gets it: what it says about the call knows what the run knows."""
    tool = work.tool
    assert tool is not None
    context = _context(run, setup, work)

    def bound(function: PreviewFunction | None) -> PreviewFunction | None:
        return function and (lambda arguments, unused: function(arguments, context))

    return replace(
        tool,
        preview=bound(tool.preview),
        caution=bound(tool.caution),
        protected=bound(tool.protected),
    )


def _context(run: Run, setup: CallSetup, work: Work) -> ToolContext:
    assert work.tool is not None
    state = run.session.state(work.tool.family or work.tool.name)
    return ToolContext(work.call, run.token, setup.cwd, setup.env, work.output.write, state)


def _start(run: Run, setup: CallSetup, work: Work, news: Channel[News]) -> None:
    work.output = LiveOutput(lambda: news.send((work, False)))
    run.session.call_started(work.call)
    work.start(_context(run, setup, work), lambda: news.send((work, True)))


def _ended(run: Run, work: Work) -> None:
    assert work.result is not None
    work.ended = True
    run.session.call_ended(work.call, work.result)


def _progress(work: Work) -> list[RunEvent]:
    text, dropped = work.output.take()
    return [ToolProgress(work.call, text, dropped)] if text else []


def _finished(work: Work) -> ToolFinished:
    assert work.result is not None
    return ToolFinished(work.call, work.result, work.duration_s, work.details)


def _cut_words(message: Message) -> str:
    word = message.stop_word or (message.stop_reason.value if message.stop_reason else "unknown")
    return f"not run: the reply ended early ({word}), so this call may be cut. Send it again."
