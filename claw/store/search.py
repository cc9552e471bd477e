"""Finds a text in a session file, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from claw.store.header import SessionInfo
from claw.store.records import ENCODER, decoded
from claw.values import frozen

AROUND = 40  # characters of context on each side


@frozen
class Hit:
    """A place where the text was found. role: user, assistant or tool. snippet: it, and what
    stands around it, on one line."""

    info: SessionInfo
    role: str
    snippet: str


def hits_in(file: BinaryIO, info: SessionInfo, text: str) -> Iterator[Hit]:
    """One hit for each message or result that holds `text`, whatever the letters' case."""
    wanted = text.casefold()
    if not wanted:
        return
    # Most lines are settled by their bytes. A text may be written in two ways (records.encoded).
    written = ENCODER.encode(wanted)[1:-1]
    for line in file:
        folded = line.decode("utf-8", "replace").casefold()
        if written not in folded and "\\ud" not in folded:
            continue
        try:
            record = decoded(line)
        except ValueError:
            continue
        for role, found in _texts_of(record):
            place = found.casefold().find(wanted)
            if place >= 0:
                yield Hit(info, role, _snippet(found, place, len(text)))
                break


def _texts_of(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(who said it, the text) for each text of a record that is shown to people."""
    if record["type"] == "call_ended":
        yield from (("tool", each) for each in _strings(record.get("content")))
    if record["type"] != "message":
        return
    blocks = record.get("blocks")
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict):
            for name in ("text", "arguments"):
                yield from ((str(record.get("role")), each) for each in _strings(block.get(name)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def _snippet(text: str, place: int, length: int) -> str:
    start, end = max(0, place - AROUND), place + length + AROUND
    before = "..." if start else ""
    after = "..." if end < len(text) else ""
    return before + " ".join(text[start:end].split()) + after
