"""The cases' own terms, for adapters: what a client says is renamed, never mended."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Outcome = dict[str, Any]
"""`{"message": {...}, "stored": text}` or `{"error": {...}}`, as tests/cases/README.md has them.

What a client doesn't know (reasoning, retryable, retry_after, context_overflow) is left out and
then isn't compared. `stored`: the message as the client keeps it, where `keeps` is looked for.
"""
OnText = Callable[[str], object]

STOP_NAMES = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
}
ENDS = ("end_turn", "tool_use")


def stop_name(word: str | None, *, has_calls: bool) -> str | None:
    """The cases' name of a stop reason. Between those two the calls decide: a client that hands
    both over as they came has lost nothing."""
    name = STOP_NAMES.get(word or "", word)
    return ("tool_use" if has_calls else "end_turn") if name in ENDS else name


def call(call_id: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
    """A tool call whose client gives its arguments as the text that came; none are {}."""
    named = {"id": call_id, "name": name}
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        value = None
    if isinstance(value, dict):
        return {**named, "arguments": value}
    return {**named, "invalid_arguments": arguments}


def sdk_error(error: Exception, sdk: Any) -> Outcome:
    """An exception of the openai or the anthropic SDK, which are of one make."""
    kind, status = "crash", 0
    if isinstance(error, sdk.APIStatusError):
        # An error inside a stream has the status of the answer that carries the stream.
        status = error.status_code
        kind = "provider" if status == 200 else "http"
    elif isinstance(error, sdk.APITimeoutError):
        kind = "stalled"
    elif isinstance(error, sdk.APIConnectionError):
        kind = "transport"
    elif isinstance(error, sdk.APIError):
        kind = "provider"
    elif isinstance(error, ValueError):  # JSON and UTF-8 that can't be read
        kind = "protocol"
    message = f"{type(error).__name__}: {error}"
    return {
        "error": {"kind": kind, "message": message[:2000], **({"status": status} if status else {})}
    }


def sse(decoder: Any, writes: list[bytes]) -> Mapping[str, Any]:
    """What an SDK's own event-stream decoder makes of some writes."""
    found = list(decoder.iter_bytes(iter(writes)))
    retries = [event.retry for event in found if event.retry is not None]
    events = [
        {"event": event.event or "message", "data": event.data, "id": event.id or ""}
        for event in found
    ]
    return {"events": events, "retry": retries[-1] if retries else None}
