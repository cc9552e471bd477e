"""The Messages dialect as it came over the wire: what isn't as Anthropic sends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from claw.messages import Message
from claw.providers.payloads import Payload

EVENTS = frozenset(
    {
        "message",  # a whole reply in one piece
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    }
)


def speaks(payload: Payload) -> bool:
    """Whether a payload is of this dialect; a ping proves nothing."""
    return payload.get("type") in EVENTS


def call_oddities(payloads: Sequence[Payload], message: Message) -> list[str]:
    """What is unusual in how the calls of `message` were sent; empty where all is as it should."""
    starts = [block for block in _blocks(payloads) if block.get("type") == "tool_use"]
    ids = [block.get("id") for block in starts]
    found = []
    if not all(ids):
        found.append("no ids")
    elif len(set(map(str, ids))) < len(ids):
        found.append("calls share an id")
    if any("input" not in block for block in starts):
        found.append("blocks without input")
    return found


def reasoning_fields(payloads: Sequence[Payload]) -> list[str]:
    """The kinds of blocks that held thinking."""
    kinds = [str(block.get("type")) for block in _blocks(payloads)]
    return list(dict.fromkeys(kind for kind in kinds if "thinking" in kind))


def usage_field(payloads: Sequence[Payload]) -> str:
    return "usage"


def _blocks(payloads: Sequence[Payload]) -> Iterator[dict[str, Any]]:
    for payload in payloads:
        block = payload.get("content_block")
        if payload.get("type") == "content_block_start" and isinstance(block, dict):
            yield block
        content = payload.get("content")
        if payload.get("type") == "message" and isinstance(content, list):
            yield from (each for each in content if isinstance(each, dict))
