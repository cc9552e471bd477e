"""Replies to conversations that fit the model's window: compacted before they are too long for
it, or else after the server said so."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from claw.cancel import CancelToken
from claw.engine.compaction import FULL, Asker, compact_by_hand, make_room, room_of
from claw.engine.context import context_tokens, estimated_tokens
from claw.engine.reply import read_reply
from claw.engine.run import Batch, Run
from claw.engine.stream import RunStream
from claw.errors import ClawError, ProviderError
from claw.events import Notice, RunResult, RunStatus
from claw.messages import Message
from claw.providers.advice import without_advice
from claw.providers.base import ModelRequest
from claw.reporter import Reporter
from claw.session import Session

STILL_TOO_LONG = (
    "The conversation was compacted and still is too long for this model: start a new one, or take "
    "a model with a longer context."
)


class RunMaker(Asker, Protocol):
    """An Asker that makes the records of its runs."""

    def new_run(self, session: Session, cancel: CancelToken | None, *, ticks: bool) -> Run: ...


def read_fitting_reply(run: Run, asker: Asker) -> Generator[Batch, None, Message]:
    """As `read_reply`, with a conversation that is made to fit. A request that is refused as too
    long is compacted and sent once more; the window that the refusal names is remembered."""
    window, request = asker.context_window, asker.request_for(run)
    size = context_tokens(request)
    if window is not None and size > FULL * window:
        share = round(100 * size / window)
        why = f"the conversation fills {share} % of the model's {window:,} tokens"
        yield from make_room(run, asker, room_of(request, window), why)
        request = asker.request_for(run)
    try:
        return (yield from _ask(run, asker, request))
    except ProviderError as error:
        if not error.context_overflow or run.shown:
            raise
        refusal = error
    asker.context_window = refusal.context_limit or window
    if run.spending.capped and size < FULL * (refusal.context_limit or 0):
        return (yield from _ask(run, asker, request))  # it was the reply's limit that didn't fit
    why = "the conversation is too long for the model"
    if not (yield from make_room(run, asker, _room_after(refusal, request), why)):
        raise refusal
    try:
        request = asker.request_for(run)
        return (yield from _ask(run, asker, request))
    except ProviderError as error:
        if not error.context_overflow:
            raise
        raise _still_too_long(error) from error


def _ask(run: Run, asker: Asker, request: ModelRequest) -> Generator[Batch, None, Message]:
    return read_reply(run, asker.provider, request, asker.buffer, asker.context_window)


def _room_after(refusal: ProviderError, request: ModelRequest) -> float:
    """What was refused is longer than the window, whatever the estimate says. By how much only
    some servers tell; else it is taken to be twice as long."""
    estimated = estimated_tokens(request)
    if refusal.context_limit is None:
        return estimated / 2
    return min(estimated, room_of(request, refusal.context_limit))


def _still_too_long(error: ProviderError) -> ClawError:
    told = without_advice(error).message
    return ClawError.from_dict({**error.to_dict(), "message": f"{told} {STILL_TOO_LONG}"})


def compact_now(
    asker: RunMaker,
    session: Session,
    words: str = "",
    *,
    cancel: CancelToken | None = None,
    reporter: Reporter | None = None,
) -> RunResult:
    """Compacts `session` by hand, as a run of its own with no step: on this thread, cancellable at
    any instant, `reporter` told. `asker` is an Engine.

    words: what the user wants the summary to keep in particular. A cancel is a status of the
    result, and leaves the history as it was, as does a ProviderError, which is raised.
    """
    told = Reporter() if reporter is None else reporter
    run = asker.new_run(session, cancel, ticks=told.wants_ticks)
    return RunStream(run, _by_hand(run, asker, words)).push_to(told)


def _by_hand(run: Run, asker: Asker, words: str) -> Generator[Batch, None, RunStatus]:
    yield [Notice(line) for line in run.session.mend()]
    if not (yield from compact_by_hand(run, asker, words)):
        yield [Notice("there is nothing to compact yet")]
    return RunStatus.COMPLETED
