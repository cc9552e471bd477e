"""Why a reply ended: the servers' words in claw's vocabulary, for both dialects."""

from __future__ import annotations

from collections.abc import Mapping

from claw.messages import StopReason

STOP_REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "end_turn": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "tool_use": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "max_tokens": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
}

# The generation failed: these are errors of the server, whatever came before them.
FAILURES = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})


def stop_reason(word: str, *, has_calls: bool, refused: bool) -> StopReason:
    """The reason behind the server's `word`. Servers confuse "stop" and "tool_calls": the presence
    of calls decides between those two, and between no others.
    """
    reason = STOP_REASONS.get(word.lower(), StopReason.OTHER)
    if refused:
        return StopReason.REFUSAL
    if reason in (StopReason.END_TURN, StopReason.TOOL_USE):
        return StopReason.TOOL_USE if has_calls else StopReason.END_TURN
    return reason


def is_failure(word: str) -> bool:
    return word.lower() in FAILURES
