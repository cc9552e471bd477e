"""One reply of the model: a producer feeds the channel, its deltas are passed on as they come."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import replace
from typing import cast

from claw.engine.budget import BudgetSpent
from claw.engine.producer import Producer
from claw.engine.run import TICK_S, Batch, Run, Waiting
from claw.errors import StreamTruncated
from claw.events import Completed, Failed, Notice, Retrying, RunEvent, TextDelta
from claw.messages import Message
from claw.providers.base import ModelRequest, Provider, StreamingProvider

KEEP_ALIVE_S = 0.05


def read_reply(
    run: Run,
    provider: Provider | StreamingProvider,
    request: ModelRequest,
    buffer: int,
    window: int | None = None,
) -> Generator[Batch, None, Message]:
    """Yields the deltas, returns the whole message, and counts what it took. Raises ProviderError
    or Cancelled, and BudgetSpent where the budget has no room for a reply.

    window: the tokens that the model takes, where that is known.
    """
    try:
        admitted = run.spending.admit(request, window)
    except BudgetSpent:
        yield _notices(run)
        raise
    request = replace(admitted, on_partial_usage=run.spending.lost.append)
    if run.producer is not None:
        run.producer.join(KEEP_ALIVE_S)  # its connection may be about to be free for this request
    run.producer = Producer(provider, request, run.token, buffer=buffer)
    channel, since, waiting_for = run.producer.channel, time.monotonic(), "the first token"
    while True:
        batch = channel.recv_many(TICK_S if run.ticks else None)
        if batch is None:
            yield Waiting(time.monotonic() - since, waiting_for)
            continue
        if not batch:
            raise StreamTruncated("the provider's stream ended without a reply: ask again")
        last, deltas = batch[-1], cast("list[RunEvent]", batch)  # all but Completed and Failed
        run.shown += [event.text for event in batch if type(event) is TextDelta]
        if isinstance(last, (Completed, Failed)):
            if isinstance(last, Failed):
                yield deltas[:-1]
                raise last.error
            run.spending.add_reply(last.message)
            yield [*deltas[:-1], *_notices(run)]
            return last.message
        yield deltas
        if type(last) is not Retrying:
            since, waiting_for = time.monotonic(), "the reply"


def _notices(run: Run) -> list[Notice]:
    return [Notice(line) for line in run.spending.take_notices()]
