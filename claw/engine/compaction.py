"""Compaction: old messages of a conversation give way to a summary, old results to shorter ones.

Between two compactions a history only grows, and the system prompt and the tools never change, so
that the servers' prompt caches hold. A compaction gives the session its new history in one step,
at its very end: a cancel in the middle leaves everything as it was.

Sizes are in the estimate's own tokens (context.py). `room` is the model's window in these.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Protocol

from claw.engine.context import context_tokens, estimated_tokens, fixed_tokens, messages_tokens
from claw.engine.reply import read_reply
from claw.engine.run import Batch, Run, Waiting
from claw.engine.summary import summary_request, with_summary
from claw.engine.trimming import start_of_last_turns, with_short_results, within, without_counts
from claw.errors import ProviderError
from claw.events import Notice, Retrying
from claw.messages import Message, StopReason
from claw.providers.advice import without_advice
from claw.providers.base import ModelRequest, Provider, StreamingProvider

# Shares of the window.
FULL = 0.8  # from here on the conversation is compacted
ENOUGH = 0.6  # results alone are shortened only if that leads down to here: it has to last a while
RECENT = 0.2  # the last turns, which stay as they are
WORTH_A_SUMMARY = 0.1  # fewer old messages aren't
SUMMARY = 1 / 8

LEAST_SUMMARY, LONGEST_SUMMARY = 1_000, 8_000  # tokens, the model's thinking included
TRIES = 3  # for a summary that is refused as too long, each with half as much of the conversation


class Asker(Protocol):
    """What compaction needs of the engine.

    context_window: tokens that the model takes, None where nobody told. request_for: makes the
    run's next request.
    """

    provider: Provider | StreamingProvider
    buffer: int
    context_window: int | None

    def request_for(self, run: Run) -> ModelRequest: ...


def room_of(request: ModelRequest, window: int) -> float:
    """A window of that many tokens in the estimate's own, which the server's count corrects where
    it is the higher one."""
    estimated = estimated_tokens(request)
    return window * estimated / max(context_tokens(request), estimated)


def make_room(run: Run, asker: Asker, room: float, why: str) -> Generator[Batch, None, bool]:
    """Shortens old results, and where that isn't enough, has a summary written. Where that fails,
    and where the last step alone is too much, results are dropped.

    why: in the words of what is told. Returns whether anything was changed.
    """
    request = asker.request_for(run)
    space = room - fixed_tokens(request)  # for the messages
    full, enough = space - (1 - FULL) * room, space - (1 - ENOUGH) * room
    old, recent = _parted(request.messages, room)
    new, done = (*with_short_results(old), *recent), "old tool results were shortened"
    if messages_tokens(new) > enough and messages_tokens(old) > WORTH_A_SUMMARY * room:
        yield [Notice(f"{why}: compacting {len(old)} messages into a summary")]
        try:
            summary = yield from _read_summary(run, asker, old, room)
            new, done = with_summary(summary, old, recent, int(RECENT * room)), "compacted"
        except ProviderError as error:
            reason = without_advice(error).message.rstrip(".")
            yield [Notice(f"no summary could be had ({reason}): tool results are dropped instead")]
            full = enough
    if messages_tokens(new) > full:
        new, done = within(new, enough), "the oldest tool results were dropped"
    if new == request.messages:
        return False
    yield from _become(run, asker, new, done)
    return True


def compact_by_hand(run: Run, asker: Asker, words: str = "") -> Generator[Batch, None, bool]:
    """Puts a summary in the place of all but the last messages, however few there are.

    words: what the user wants it to keep in particular. Returns whether there was anything to do.
    Raises ProviderError where the model writes none: nothing is changed then.
    """
    request, window = asker.request_for(run), asker.context_window
    size = estimated_tokens(request)
    old, recent = _parted(request.messages, messages_tokens(request.messages))
    if not old:
        return False
    yield [Notice(f"compacting {len(old)} messages into a summary")]
    room = size / ENOUGH if window is None else room_of(request, window)
    summary = yield from _read_summary(run, asker, old, room, words)
    yield from _become(run, asker, with_summary(summary, old, recent, int(RECENT * size)))
    return True


def _parted(messages: Sequence[Message], room: float) -> tuple[Sequence[Message], ...]:
    start = start_of_last_turns(messages, RECENT * room)
    return messages[:start], messages[start:]


def _become(
    run: Run, asker: Asker, new: Sequence[Message], done: str = "compacted"
) -> Generator[Batch, None, None]:
    """Gives the session its new history, and tells what that saved."""
    request = asker.request_for(run)
    before, estimated = context_tokens(request), estimated_tokens(request)
    run.session.compact(without_counts(new), kept=0)
    after = estimated_tokens(asker.request_for(run)) * max(before, estimated) // estimated
    yield [Notice(f"{done}: about {before:,} tokens became {after:,}")]


def _read_summary(
    run: Run, asker: Asker, old: Sequence[Message], room: float, words: str = "", tries: int = TRIES
) -> Generator[Batch, None, str]:
    """Asks for a summary of `old`. Raises ProviderError where none comes."""
    allowed = asker.request_for(run).max_tokens or LONGEST_SUMMARY
    limit = int(min(allowed, LONGEST_SUMMARY, max(LEAST_SUMMARY, SUMMARY * room)))
    reply = None
    try:
        request = summary_request(old, ENOUGH * room, limit, words)
        reply = yield from _read_quietly(run, asker, request)
    except ProviderError as error:
        if not error.context_overflow or tries == 1:
            raise
    if reply is None:  # the estimate was far off, or the window is smaller than it is said to be
        return (yield from _read_summary(run, asker, old, room / 2, words, tries - 1))
    if reply.stop_reason in (StopReason.REFUSAL, StopReason.CONTENT_FILTER):
        raise ProviderError("the model refused to write it")
    if not reply.text.strip():
        raise ProviderError("the model wrote nothing")
    return reply.text


def _read_quietly(run: Run, asker: Asker, request: ModelRequest) -> Generator[Batch, None, Message]:
    """`read_reply` of something that isn't an answer: only its waiting, retries and notices
    are told."""
    reading = read_reply(run, asker.provider, request, asker.buffer)
    while True:
        try:
            batch = next(reading)
        except StopIteration as end:
            message: Message = end.value
            return message
        run.shown.clear()
        if isinstance(batch, Waiting):
            yield replace(batch, waiting_for="the summary")
        else:
            yield [event for event in batch if isinstance(event, (Notice, Retrying))]
