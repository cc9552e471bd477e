"""ScriptedProvider: a model that says what the test tells it to, turn by turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, TypeAlias

from claw.cancel import CancelToken
from claw.errors import ClawError, ProviderError
from claw.events import (
    Completed,
    Failed,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from claw.messages import Block, Message, StopReason, TextBlock, ToolCall
from claw.providers.base import ModelRequest

Turn: TypeAlias = Sequence[StreamEvent] | ClawError
Scripted: TypeAlias = Turn | Callable[[ModelRequest], Turn]


class ScriptedProvider:
    """Plays one turn for each request, in order; `requests` keeps what it was asked.

    A turn is a list of StreamEvents (see `text_turn`, `tool_turn`), an error to fail with, or a
    callable that gets the ModelRequest and returns one of these: it may look at tool results. A
    request after the last turn fails. May be used by several runs; turns are then taken as asked.
    """

    def __init__(self, *turns: Scripted) -> None:
        self._turns = turns
        self._next = count()
        self.requests: list[ModelRequest] = []

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        """Yields the next turn's events; called on the producer's thread."""
        self.requests.append(request)
        index = next(self._next)
        if index >= len(self._turns):
            raise ProviderError(f"the script has {len(self._turns)} turns; this is one more")
        turn = self._turns[index]
        if callable(turn):
            turn = turn(request)
        if isinstance(turn, ClawError):
            turn = [Failed(turn)]
        yield from turn


def text_turn(*pieces: str, stop_reason: StopReason = StopReason.END_TURN) -> list[StreamEvent]:
    """A turn that says `pieces`, each as one delta."""
    message = _reply([TextBlock("".join(pieces))] if pieces else [], stop_reason)
    return [*map(TextDelta, pieces), Completed(message)]


def tool_turn(name: str, /, **arguments: Any) -> list[StreamEvent]:
    """A turn with one call; for several, `calls_turn`."""
    return calls_turn((name, arguments))


def calls_turn(
    *calls: tuple[str, dict[str, Any]],
    text: str = "",
    stop_reason: StopReason = StopReason.TOOL_USE,
) -> list[StreamEvent]:
    """A turn with several calls, each (name, arguments), after some `text`."""
    made = [
        ToolCall(f"call_{n}_{name}", name, arguments) for n, (name, arguments) in enumerate(calls)
    ]
    events: list[StreamEvent] = [TextDelta(text)] if text else []
    for index, call in enumerate(made):
        events += [
            ToolCallStart(index, call.id, call.name),
            ToolCallDelta(index, json.dumps(call.arguments)),
        ]
    blocks: list[Block] = [TextBlock(text)] if text else []
    return [*events, Completed(_reply([*blocks, *made], stop_reason))]


def _reply(blocks: Sequence[Block], stop_reason: StopReason) -> Message:
    return Message.assistant(*blocks, stop_reason=stop_reason)
