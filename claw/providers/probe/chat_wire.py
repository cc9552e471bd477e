"""Chat Completions as it came over the wire: what in the raw payloads isn't as OpenAI sends it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from claw.messages import Message
from claw.providers.payloads import Payload

REASONING = ("reasoning_content", "reasoning", "reasoning_details")
THINK_START, THINK_END = "<think>", "</think>"


def speaks(payload: Payload) -> bool:
    """Whether a payload is of this dialect."""
    return "choices" in payload


def call_oddities(payloads: Sequence[Payload], message: Message) -> list[str]:
    """What is unusual in how the calls of `message` were sent; empty where all is as it should."""
    pieces = list(_call_pieces(payloads))
    if not pieces:
        return ["the old function_call"]
    return [
        *_index_oddities(pieces, len(message.tool_calls)),
        *_id_oddities(pieces, len(message.tool_calls)),
        *_name_oddities(pieces, message),
        *_argument_oddities(pieces),
    ]


def reasoning_fields(payloads: Sequence[Payload]) -> list[str]:
    """Where the reasoning stands, by the names of the fields that held some."""
    found: dict[str, None] = {}
    for delta in _deltas(payloads):
        found |= dict.fromkeys(name for name in REASONING if delta.get(name))
        content = delta.get("content")
        if isinstance(content, list) and any(
            isinstance(part, dict) and part.get("type") == "thinking" for part in content
        ):
            found["thinking parts"] = None
    return list(found)


def has_extras(payloads: Sequence[Payload]) -> bool:
    """Whether something came that such servers want back (thought signatures)."""
    return any(
        "extra_content" in each
        for each in (*_deltas(payloads), *_call_pieces(payloads))
        if each.get("extra_content")
    )


def usage_field(payloads: Sequence[Payload]) -> str:
    """Which field the usage came in."""
    return next(
        (name for name in ("usage", "x_groq") for payload in payloads if payload.get(name)), ""
    )


def _choices(payloads: Sequence[Payload]) -> Iterator[dict[str, Any]]:
    for payload in payloads:
        choices = payload.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                yield choice


def _deltas(payloads: Sequence[Payload]) -> Iterator[dict[str, Any]]:
    for choice in _choices(payloads):
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            yield delta


def _call_pieces(payloads: Sequence[Payload]) -> Iterator[dict[str, Any]]:
    for delta in _deltas(payloads):
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            yield from (each for each in calls if isinstance(each, dict))


def _index_oddities(pieces: Sequence[dict[str, Any]], calls: int) -> Iterator[str]:
    indexes = [piece["index"] for piece in pieces if isinstance(piece.get("index"), int)]
    if len(indexes) < len(pieces):
        yield "index missing"
    elif calls > 1 and len(set(indexes)) == 1:
        yield f"all calls have index {indexes[0]}"
    elif min(indexes) != 0:
        yield f"index begins at {min(indexes)}"


def _id_oddities(pieces: Sequence[dict[str, Any]], calls: int) -> Iterator[str]:
    ids = [str(piece.get("id") or "") for piece in pieces]
    given = [each for each in ids if each]
    if not given:
        yield "no ids"
    elif not ids[0]:
        yield "ids come late"
    elif len(set(given)) < calls:
        yield "calls share an id"
    elif any(one == other for one, other in pairwise(given)):
        yield "id repeated in each piece"


def _name_oddities(pieces: Sequence[dict[str, Any]], message: Message) -> Iterator[str]:
    names = [name for piece in pieces if (name := _function(piece).get("name"))]
    if any(call.name not in names for call in message.tool_calls):
        yield "name in pieces"
    elif len(names) > len(message.tool_calls):
        yield "name repeated"


def _argument_oddities(pieces: Sequence[dict[str, Any]]) -> Iterator[str]:
    arguments = [_function(piece).get("arguments") for piece in pieces]
    if any(isinstance(each, dict) for each in arguments):
        yield "arguments as an object, not as text"
    elif any(isinstance(each, str) and _is_quoted_object(each) for each in arguments):
        yield "arguments quoted twice"


def _is_quoted_object(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, str) and value.lstrip().startswith("{")


def _function(piece: dict[str, Any]) -> dict[str, Any]:
    function = piece.get("function")
    return function if isinstance(function, dict) else {}
