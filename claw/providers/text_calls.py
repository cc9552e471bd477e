"""Tool calls that a small model writes as text, where the quirk `calls_in_text` is on.

Three forms are known: a fenced block (```json, ```tool_call or bare), `<tool_call>` tags, and an
object that is the whole text. The object holds `name` and `arguments` (or `parameters`) and no
more than that but `id` and `type`, names a tool that was offered, and its arguments fit that
tool's schema. Everything else is text and stays text. Many models stop right after the object, so
the end of the reply counts as the end of a block or of tags.

Only a reply that ended by itself is looked at: what was cut, filtered or refused never becomes a
call. The text of a call is taken out of the message, which keeps the words around it in their
places; the next request then shows the call in the form that the model's own template gives it.
The deltas had shown the text by then: streaming is for the eye, and the Message is what counts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from claw.events import Completed, StreamEvent, ToolCallDelta, ToolCallStart
from claw.messages import Block, Message, StopReason, TextBlock, ToolCall
from claw.providers.arguments import parse_arguments
from claw.providers.nesting import Nesting
from claw.tools.base import Tool
from claw.tools.schema import problem_with

# At the beginning of a line: what stands in its middle, or deeper than three blanks, is quoted.
# Longer fences and tildes hold what somebody wrote about, and a thought isn't an act.
OPENING = re.compile(
    r"^ {0,3}(?:```(?P<info>[^`\n]*+)\n|(?P<other>`{4,}|~{3,}|<think>)|<tool_call>)", re.MULTILINE
)
LONGEST = 100_000  # characters; a reply with a call is short, and each look costs time
CALL_INFOS = ("", "json", "tool_call")  # what a block with a call is said to hold
NEXT_FENCE = re.compile(r"^[ \t]*+```[ \t\r]*+$", re.MULTILINE)
FENCE_END = re.compile(r"\s*(?:```[ \t\r]*+(?:\n|\Z)|\Z)")
TAG_END = re.compile(r"\s*(?:</tool_call>|\Z)")
TEXT_END = re.compile(r"\s*\Z")
MOST_OPENINGS = 64  # that are looked at: each may cost a look at all the rest
KNOWN_KEYS = {"name", "arguments", "parameters", "id", "type"}


def with_text_calls(events: Iterator[StreamEvent], tools: Sequence[Tool]) -> Iterator[StreamEvent]:
    """The events of a reply; before its Completed come the deltas of the calls found in its text.

    `tools` are those that the request offered.
    """
    for event in events:
        if isinstance(event, Completed):
            message = recognise(event.message, tools)
            if message is not event.message:
                yield from _deltas(message.tool_calls)
                event = Completed(message)
        yield event


def recognise(message: Message, tools: Sequence[Tool]) -> Message:
    """`message` with the calls in its text as ToolCalls and TOOL_USE; itself if there are none."""
    if message.stop_reason is not StopReason.END_TURN or message.tool_calls or not tools:
        return message
    offered = {tool.name: tool for tool in tools}
    blocks: list[Block] = []
    for block in message.blocks:
        blocks += _split(block.text, offered) if isinstance(block, TextBlock) else [block]
    if not any(isinstance(block, ToolCall) for block in blocks):
        return message
    return replace(message, blocks=tuple(blocks), stop_reason=StopReason.TOOL_USE)


def _split(text: str, offered: Mapping[str, Tool]) -> list[Block]:
    """A text as it stands, or its calls and the words between them; blanks at the cuts go."""
    blocks: list[Block] = []
    done = 0
    for start, end, call in _calls_in(text, offered):
        blocks += [*_words(text[done:start]), call]
        done = end
    return [*blocks, *_words(text[done:])] if blocks else [TextBlock(text)]


def _words(text: str) -> list[Block]:
    words = text.strip()
    return [TextBlock(words)] if words else []


def _calls_in(text: str, offered: Mapping[str, Tool]) -> Iterator[tuple[int, int, ToolCall]]:
    """(where it starts, where it ends, the call), in order; with fence or tags, if it has them."""
    if len(text) > LONGEST:
        return
    if found := _call_at(text, 0, TEXT_END, offered):
        yield 0, *found
        return
    place = 0
    for _ in range(MOST_OPENINGS):
        opening = OPENING.search(text, place)
        if opening is None:
            return
        place, info, other = opening.end(), opening["info"], opening["other"]
        found = None
        if other:
            place = text.find("</think>" if other == "<think>" else f"\n{other}", place)
            if place < 0:
                return
            place += len(other) + 1
            continue
        if info is None or info.strip() in CALL_INFOS:
            ending = TAG_END if info is None else FENCE_END
            found = _call_at(text, place, ending, offered)
        if found:
            place, call = found
            yield opening.start(), place, call
        elif info is not None:  # a block of something else, whatever stands in it
            closing = NEXT_FENCE.search(text, place)
            if closing is None:
                return
            place = closing.end()


def _call_at(
    text: str, start: int, ending: re.Pattern[str], offered: Mapping[str, Tool]
) -> tuple[int, ToolCall] | None:
    """The call that is all there is between `start` and `ending`, and where the ending ends."""
    rest = text[start:].lstrip()
    length = Nesting(rest).closed_at if rest.startswith("{") else None
    if length is None:
        return None
    end = ending.match(text, len(text) - len(rest) + length)
    value, error = parse_arguments(rest[:length])
    call = _as_call(value, offered) if end and not error else None
    return (end.end(), call) if end and call else None


def _as_call(value: Mapping[str, Any], offered: Mapping[str, Tool]) -> ToolCall | None:
    name = value.get("name")
    given = [value[key] for key in ("arguments", "parameters") if key in value]
    tool = offered.get(name) if isinstance(name, str) else None
    if tool is None or len(given) != 1 or not value.keys() <= KNOWN_KEYS:
        return None
    arguments, error = given[0], None
    if isinstance(arguments, str):
        arguments, error = parse_arguments(arguments)
    if error or not isinstance(arguments, dict) or problem_with(arguments, tool.parameters):
        return None
    return ToolCall("c" + os.urandom(4).hex(), tool.name, arguments)


def _deltas(calls: Sequence[ToolCall]) -> Iterator[StreamEvent]:
    for index, call in enumerate(calls):
        yield ToolCallStart(index, call.id, call.name)
        yield ToolCallDelta(index, json.dumps(call.arguments, ensure_ascii=False))
