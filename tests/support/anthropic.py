"""Messages bodies for tests: the payloads of a stream, and what a reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from claw.errors import ProviderError
from claw.events import StreamEvent
from claw.messages import Message
from claw.providers.messages_assembler import MessagesAssembler
from claw.providers.reply import ReplyReader

STOP = {"type": "message_stop"}
PING = {"type": "ping"}


def head(**usage: int) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    return {"type": "message_start", "message": message}


def block(index: int | None, kind: str, **fields: Any) -> dict[str, Any]:
    """A block begins; without an index where that is None."""
    place = {} if index is None else {"index": index}
    return {"type": "content_block_start", **place, "content_block": {"type": kind, **fields}}


def delta(index: int | None, kind: str, **fields: Any) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {"type": "content_block_delta", **place, "delta": {"type": f"{kind}_delta", **fields}}


def text(index: int | None, words: str) -> dict[str, Any]:
    return delta(index, "text", text=words)


def thinking(index: int | None, words: str) -> dict[str, Any]:
    return delta(index, "thinking", thinking=words)


def partial(index: int | None, fragment: Any) -> dict[str, Any]:
    return delta(index, "input_json", partial_json=fragment)


def signature(index: int | None, value: str) -> dict[str, Any]:
    return delta(index, "signature", signature=value)


def end(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def tail(reason: Any = "end_turn", **usage: int) -> dict[str, Any]:
    counts = {"usage": usage} if usage else {}
    return {"type": "message_delta", "delta": {"stop_reason": reason}, **counts}


def body(*payloads: dict[str, Any]) -> bytes:
    """The payloads as named events."""
    return b"".join(
        f"event: {payload.get('type')}\ndata: {json.dumps(payload)}\n\n".encode()
        for payload in payloads
    )


def read(
    pieces: Iterable[bytes], assembler: MessagesAssembler | None = None
) -> tuple[list[StreamEvent], Message | ProviderError]:
    """The deltas and the outcome of a body that comes in `pieces`."""
    reader = ReplyReader(assembler or MessagesAssembler())
    deltas: list[StreamEvent] = []
    for data in pieces:
        if reader.ended:
            break
        deltas += reader.feed(data)
    try:
        return deltas, reader.finish()
    except ProviderError as error:
        return deltas, error


def message_of(*payloads: dict[str, Any]) -> Message:
    """The message of a whole stream."""
    outcome = read([body(*payloads)])[1]
    assert isinstance(outcome, Message), repr(outcome)
    return outcome


def whole(**fields: Any) -> Message:
    """The message of an answer in one piece."""
    outcome = read([json.dumps({"type": "message", "role": "assistant", **fields}).encode()])[1]
    assert isinstance(outcome, Message), repr(outcome)
    return outcome
