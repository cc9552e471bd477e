"""Whether an outcome is the one that a case expects: the first difference in words, or None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LATEST_S = 5.0  # where the case names no time
RETRY_AFTER_SLACK_S = 3
FOLDED = ("status", "retryable", "context_overflow")


def fault_in_reply(expect: Mapping[str, Any], outcome: Mapping[str, Any]) -> str | None:
    """For a stream case. `outcome` is an adapter's, with what the worker saw: `text_deltas`,
    `seconds` and `first_delta` (seconds, or None)."""
    if "error" in outcome:
        told = outcome["error"]
        if "error" not in expect:
            return f"an error in place of a message: {told['kind']}: {told.get('message')}"
        return _fault_in_error(expect["error"], told) or _fault_in_times(expect, outcome)
    if "message" not in expect:
        return f"a message in place of an error: {_short(outcome['message'])}"
    return (
        _fault_in_message(expect, outcome)
        or _difference("text deltas", expect["text_deltas_joined"], outcome["text_deltas"])
        or _fault_in_times(expect, outcome)
    )


def fault_in_events(expect: Mapping[str, Any], outcome: Mapping[str, Any]) -> str | None:
    """For a case of the event-stream parser."""
    if "error" in outcome:
        return str(outcome["error"])
    if "retry" in expect and (fault := _difference("retry", expect["retry"], outcome["retry"])):
        return fault
    return _difference("events", expect["events"], outcome["events"])


def _fault_in_error(expect: Mapping[str, Any], told: Mapping[str, Any]) -> str | None:
    if fault := _difference("kind of error", expect["kind"], told["kind"]):
        return f"{fault}: {told.get('message')}"
    for key in FOLDED:
        if key in expect and key in told and (f := _difference(key, expect[key], told[key])):
            return f
    if "retry_after" in expect and "retry_after" in told:
        wait = told["retry_after"]
        if wait is None or abs(wait - expect["retry_after"]) > RETRY_AFTER_SLACK_S:
            return _difference("retry_after", expect["retry_after"], wait)
    words = expect.get("contains", "")
    shown = words.lower() in str(told.get("message")).lower()
    return None if shown else f"the error doesn't show {words!r}: {told.get('message')}"


def _fault_in_message(expect: Mapping[str, Any], outcome: Mapping[str, Any]) -> str | None:
    wanted, message = expect["message"], outcome["message"]
    for key in ("text", "stop_reason", "reasoning"):
        if key in wanted and key in message and wanted[key] != message[key]:
            return _difference(key, wanted[key], message[key])
    usage = message["usage"]
    if wanted["usage"] and usage:
        usage = {key: usage.get(key) for key in wanted["usage"]}
    lost = [kept for kept in expect.get("keeps", ()) if kept not in outcome["stored"]]
    return (
        _difference("usage", wanted["usage"], usage)
        or _fault_in_calls(wanted["tool_calls"], message["tool_calls"])
        or (f"not kept: {lost}" if lost else None)
    )


def _fault_in_calls(wanted: list[dict[str, Any]], calls: list[dict[str, Any]]) -> str | None:
    ids = [call["id"] for call in calls]
    if len(set(ids)) < len(ids) or not all(ids):
        return f"ids that are empty or not unique: {ids}"
    free = [
        {**call, "id": "*"} if want["id"] == "*" else call
        for want, call in zip(wanted, calls, strict=False)
    ]
    return _difference("tool calls", wanted, free + calls[len(wanted) :])


def _fault_in_times(expect: Mapping[str, Any], outcome: Mapping[str, Any]) -> str | None:
    latest = expect.get("within", LATEST_S)
    if outcome["seconds"] > latest:
        return f"after {outcome['seconds']:.1f} s, not within {latest:g}"
    first, latest = outcome["first_delta"], expect.get("first_delta_within")
    if latest is not None and (first is None or first > latest):
        return f"first text after {first} s, not within {latest:g}"
    return None


def _difference(what: str, wanted: Any, found: Any) -> str | None:
    return None if wanted == found else f"{what}: {_short(found)} instead of {_short(wanted)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."
