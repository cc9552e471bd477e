"""A conversation for people (Markdown) and for programs (JSON), in pieces."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Literal, TypeAlias

from claw.messages import ReasoningBlock, TextBlock, ToolCall, ToolResult
from claw.store.header import SessionInfo
from claw.store.replay import Replayed

Form: TypeAlias = Literal["markdown", "json"]

HEADINGS = {"user": "User", "assistant": "Assistant", "tool": "Results"}


def as_json(info: SessionInfo, replayed: Replayed) -> Iterator[str]:
    """One object: version, the header's fields, turns, usage, cost (null where that of a turn isn't
    known), and `messages` as `Message.to_dict()` gives them."""
    totals = replayed.totals
    head = {
        "version": 1,
        **asdict(info),
        "turns": totals.turns,
        "usage": totals.usage.to_dict(),
        "cost": None if totals.unpriced else totals.cost,
    }
    yield json.dumps(head)[:-1] + ', "messages": ['
    for index, message in enumerate(replayed.session.messages):
        yield (",\n" if index else "\n") + json.dumps(message.to_dict())
    yield "\n]}\n"


def as_markdown(info: SessionInfo, replayed: Replayed) -> Iterator[str]:
    """A heading for each message; calls and results in fences, which none of their text closes."""
    yield f"# {info.title or info.id}\n\n"
    yield f"Session {info.id}, {info.created}, {info.model}, {info.cwd}\n"
    for message in replayed.session.messages:
        yield f"\n## {HEADINGS[message.role]}\n"
        for block in message.blocks:
            if isinstance(block, TextBlock) and block.text:
                yield f"\n{block.text.strip()}\n"
            elif isinstance(block, ReasoningBlock) and block.text:
                yield "\n" + "".join(f"> {line}\n" for line in block.text.strip().split("\n"))
            elif isinstance(block, ToolCall):
                arguments = json.dumps(block.arguments, indent=1, ensure_ascii=False)
                yield f"\n**{block.name}**\n\n{_fenced(arguments, 'json')}"
            elif isinstance(block, ToolResult):
                yield f"\n{'An error:' + chr(10) * 2 if block.is_error else ''}"
                yield _fenced(block.content)


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


FORMS: Mapping[Form, Callable[[SessionInfo, Replayed], Iterator[str]]] = {
    "markdown": as_markdown,
    "json": as_json,
}
