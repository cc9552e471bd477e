"""Chat Completions bodies for tests: chunks, event streams, and what a reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from claw.errors import ProviderError
from claw.events import StreamEvent
from claw.messages import Message
from claw.providers.chat_assembler import ChatAssembler
from claw.providers.reply import ReplyReader

DONE = "[DONE]"


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    """One chunk with one choice."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def text(content: str) -> dict[str, Any]:
    return chunk({"content": content})


def call(**piece: Any) -> dict[str, Any]:
    """A chunk with one piece of a tool call; `name` and `arguments` go into `function`."""
    function = {key: piece.pop(key) for key in ("name", "arguments") if key in piece}
    return chunk({"tool_calls": [{**piece, "function": function}]})


STOP = chunk({}, "stop")


def body(*payloads: Any) -> bytes:
    """Each payload as an event; strings go out as they are."""
    lines = (item if isinstance(item, str) else json.dumps(item) for item in payloads)
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def read(
    pieces: Iterable[bytes], broken: ProviderError | None = None, **options: Any
) -> tuple[list[StreamEvent], Message | ProviderError]:
    """The deltas and the outcome of a body that comes in `pieces`, as a transport reads it."""
    reader = ReplyReader(ChatAssembler(), **options)
    deltas: list[StreamEvent] = []
    for data in pieces:
        if reader.ended:
            break
        deltas += reader.feed(data)
    try:
        return deltas, reader.finish(broken)
    except ProviderError as error:
        return deltas, error


def message_of(*payloads: Any) -> Message:
    """The message of a whole stream."""
    outcome = read([body(*payloads)])[1]
    assert isinstance(outcome, Message), repr(outcome)
    return outcome


def error_of(*payloads: Any) -> ProviderError:
    """The error that a stream ends with."""
    outcome = read([body(*payloads)])[1]
    assert isinstance(outcome, ProviderError), repr(outcome)
    return outcome
