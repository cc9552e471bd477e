"""Builders for what a Chat Completions server puts on the wire, and a judge of what it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

DONE = b"data: [DONE]\n\n"


def event(payload: Mapping[str, Any]) -> bytes:
    """One server-sent event that holds `payload`."""
    return b"data: " + json.dumps(payload, ensure_ascii=False).encode() + b"\n\n"


def chunk(
    delta: Mapping[str, Any], finish: str | None = None, usage: Mapping[str, int] | None = None
) -> bytes:
    """One event with a `chat.completion.chunk`."""
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish}
    payload: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "scripted",
        "choices": [choice],
    }
    return event(payload | ({"usage": dict(usage)} if usage else {}))


def text(piece: str) -> bytes:
    """One event with a piece of text."""
    return chunk({"content": piece})


def text_reply(*pieces: str) -> list[bytes]:
    """All events of an answer in words."""
    usage = {"prompt_tokens": 7, "completion_tokens": len(pieces), "total_tokens": 7 + len(pieces)}
    return [
        chunk({"role": "assistant", "content": ""}),
        *map(text, pieces),
        chunk({}, "stop", usage),
        DONE,
    ]


def tool_reply(*calls: tuple[str, str, Mapping[str, Any]], words: str = "") -> list[bytes]:
    """All events of an answer that asks for calls, each (id, name, arguments). The arguments'
    fragments of all calls are interleaved, eight characters at a time."""
    events = [chunk({"role": "assistant", "content": None})]
    if words:
        events.append(text(words))
    rest: dict[int, str] = {}
    for index, (call_id, name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": call_id, "type": "function", "function": function}
        events.append(chunk({"tool_calls": [call]}))
        rest[index] = json.dumps(arguments)
    while any(rest.values()):
        for index, left in rest.items():
            if left:
                fragment = {"index": index, "function": {"arguments": left[:8]}}
                events.append(chunk({"tool_calls": [fragment]}))
                rest[index] = left[8:]
    return [*events, chunk({}, "tool_calls"), DONE]


def http_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def history_fault(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """What a strict server has against this history; None when it is in order."""
    open_calls: list[str] = []
    previous = ""
    for number, message in enumerate(messages):
        role = message.get("role")
        where = f"messages[{number}] ({role})"
        if role == "tool":
            if not open_calls:
                return f"{where}: a result without a call"
            if message.get("tool_call_id") != open_calls[0]:
                return f"{where}: expected the result of {open_calls[0]}"
            if not isinstance(message.get("content"), str):
                return f"{where}: content must be a string"
            open_calls.pop(0)
            continue
        if open_calls:
            return f"{where}: the call {open_calls[0]} has no result"
        if role == "assistant":
            fault, open_calls = _assistant_fault(message)
            if fault:
                return f"{where}: {fault}"
        elif role == "user" and not message.get("content"):
            return f"{where}: empty"
        elif role == "user" and previous == "user":
            return f"{where}: two user messages in a row"
        elif role not in ("user", "system"):
            return f"{where}: unknown role"
        previous = str(role)
    return f"the call {open_calls[0]} has no result" if open_calls else None


def _assistant_fault(message: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    calls = message.get("tool_calls") or []
    if not calls and not message.get("content"):
        return "neither content nor tool calls", []
    ids = [call["id"] for call in calls]
    if len(set(ids)) < len(ids):
        return "two calls share an id", ids
    for call in calls:
        try:
            arguments = json.loads(call["function"]["arguments"])
        except ValueError:
            return f"the arguments of {call['id']} aren't JSON", ids
        if not isinstance(arguments, dict):
            return f"the arguments of {call['id']} aren't an object", ids
    return None, ids
