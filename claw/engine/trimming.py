"""Where a history may be cut, and how its tool results are made shorter. Pure functions.

A message that needn't change stays the same object, with the bytes it is sent as.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from claw.engine.context import message_tokens, messages_tokens
from claw.engine.limits import is_paused
from claw.messages import Block, Message, ToolResult

SHORT_RESULT = 1_000  # characters that are left of an old result
SHORTEST = 250  # and of one that the model hasn't seen yet, at least
DROPPED = "[this result was dropped to save room; call the tool again if it is needed]"


def shortened(text: str, limit: int) -> str:
    """The beginning and the end of `text`, about `limit` characters, with a line that says how
    much is left out."""
    if len(text) <= limit:
        return text
    head, tail = limit // 2, limit - limit // 2
    left_out = f"[... {len(text) - limit:,} characters left out to save room ...]"
    return f"{text[:head]}\n{left_out}\n{text[len(text) - tail :]}"


def start_of_last_turns(messages: Sequence[Message], budget: float) -> int:
    """The index from which the messages take at most `budget` tokens; at least the last step.

    A cut there parts no call from its result and no answer that the server paused. It is before a
    user's message where there is one in reach: whole turns stay.
    """
    starts = [index for index in range(len(messages)) if _may_begin(messages, index)]
    if not starts:
        return 0
    left, first = budget, len(messages)
    while first and (left := left - message_tokens(messages[first - 1])) >= 0:
        first -= 1
    fitting = [index for index in starts if index >= first] or starts[-1:]
    turns = [index for index in fitting if messages[index].role == "user"]
    return min(turns or fitting)


def _may_begin(messages: Sequence[Message], index: int) -> bool:
    goes_on = index > 0 and is_paused(messages[index - 1])
    return messages[index].role != "tool" and not goes_on


def with_short_results(
    messages: Sequence[Message], limit: int = SHORT_RESULT
) -> tuple[Message, ...]:
    """The messages with every tool result cut to about `limit` characters."""
    return tuple(_with_contents(m, lambda text: shortened(text, limit)) for m in messages)


def within(messages: Sequence[Message], budget: float) -> tuple[Message, ...]:
    """The messages made to take at most `budget` tokens, as far as that can be done by their tool
    results: the oldest are dropped, one message after the other, and those of the last, which the
    model hasn't seen, are shortened at the end."""
    fitted = list(messages)
    excess = messages_tokens(fitted) - budget
    places = [index for index, message in enumerate(fitted) if message.tool_results]
    for index in places[:-1]:
        if excess <= 0:
            break
        excess -= _put(fitted, index, _with_contents(fitted[index], _dropped))
    limit = 32_000
    while excess > 0 and places and limit >= SHORTEST:
        excess -= _put(fitted, places[-1], *with_short_results([fitted[places[-1]]], limit))
        limit //= 2
    return tuple(fitted)


def _put(messages: list[Message], index: int, message: Message) -> int:
    """Puts `message` in its place and returns how many tokens that saved."""
    saved = message_tokens(messages[index]) - message_tokens(message)
    messages[index] = message
    return saved


def _dropped(content: str) -> str:
    return DROPPED if len(content) > len(DROPPED) else content


def _with_contents(message: Message, change: Callable[[str], str]) -> Message:
    blocks = tuple(_changed(block, change) for block in message.blocks)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _changed(block: Block, change: Callable[[str], str]) -> Block:
    if not isinstance(block, ToolResult):
        return block
    content = change(block.content)
    return block if content == block.content else replace(block, content=content)


def without_counts(messages: Sequence[Message]) -> list[Message]:
    """The messages without the server's counts: those were of a prompt that is no more."""
    return [m if m.usage is None else replace(m, usage=None) for m in messages]
