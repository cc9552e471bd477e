"""When a run ends: what a reply means, and when a model goes round in circles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from claw.events import RunStatus
from claw.messages import Message, ReasoningBlock, StopReason, ToolCall

IDENTICAL_CALLS = 3
CALLS_OF_A_REPLY = 128  # that are run; a model that wants more has lost its way
WHOLE = (None, StopReason.END_TURN, StopReason.TOOL_USE)
CUT = (StopReason.MAX_TOKENS, StopReason.OTHER)
FULL_CONTEXT = ("model_context_window_exceeded", "model_length")  # Anthropic's and Mistral's words


def calls_are_whole(message: Message) -> bool:
    """Whether the calls of a reply are surely whole: it ended by itself, not by a limit or filter.

    The presence of calls decides between `stop` and `tool_calls`; servers confuse the two.
    """
    return message.stop_reason in WHOLE


def is_paused(message: Message) -> bool:
    """Whether the answer goes on in the next assistant message: the server paused in a long turn
    of its own tools (platform.claude.com, "Server tools"). What is sent after calls of ours is
    another answer."""
    return message.stop_reason is StopReason.PAUSE and not message.tool_calls


def verdict(message: Message, before: Message | None) -> RunStatus | None:
    """How the run ends after `message`, or None when it goes on (calls answered, if there are any).

    before: the reply before this one, in the same run. A model gets one chance after calls that
    were cut. After a pause with nothing in it the same request is sent again: two such pauses in a
    row end the run as TRUNCATED, for the third would be no other.
    """
    reason = message.stop_reason
    if reason in (StopReason.CONTENT_FILTER, StopReason.REFUSAL):
        return RunStatus.REFUSED
    if reason is StopReason.PAUSE:
        stuck = before is not None and all(map(_is_empty_pause, (before, message)))
        return RunStatus.TRUNCATED if stuck else None
    if message.tool_calls:
        cut_again = before is not None and reason in CUT and before.stop_reason in CUT
        return RunStatus.TRUNCATED if cut_again else None
    cut = reason is StopReason.MAX_TOKENS or message.stop_word in FULL_CONTEXT
    return RunStatus.TRUNCATED if cut else RunStatus.COMPLETED


def _is_empty_pause(message: Message) -> bool:
    """Thinking that was broken off adds nothing to the conversation."""
    contents = [block for block in message.blocks if not isinstance(block, ReasoningBlock)]
    return is_paused(message) and not contents


class Repeats:
    """Counts identical calls in a row: by name and canonical arguments, never by their results."""

    def __init__(self) -> None:
        self._last: tuple[str, str] | None = None
        self._count = 0

    def too_many(self, call: ToolCall) -> bool:
        """Whether `call` is the third identical one in a row; asking starts the count anew."""
        this = (call.name, call.raw or canonical(call.arguments))
        same, self._last = this == self._last, this
        self._count = self._count + 1 if same else 1
        if self._count < IDENTICAL_CALLS:
            return False
        self._count = 0
        return True


def canonical(arguments: Mapping[str, Any]) -> str:
    """One text for the same arguments, however they were written: keys in order, 1.0 as 1."""
    return json.dumps(_with_whole_numbers(arguments), sort_keys=True)


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _with_whole_numbers(inner) for key, inner in value.items()}
    return [_with_whole_numbers(inner) for inner in value] if isinstance(value, list) else value
