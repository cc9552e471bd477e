"""Mask: takes keys out of what is written down, since a tool may have printed one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from claw.store.records import ENCODER, Record, encoded

MASKED = "[key]"
SHORTEST = 8  # shorter values ("none", "ollama") are placeholders, and ordinary words
SHORTEST_PART = 12  # a key whose end was cut off still tells this much of it

# What the format itself is made of: a key that happens to be "assistant" doesn't break it.
FIXED = {"type", "role", "id", "ids", "call_id", "name", "model", "created", "status"} | {
    "stop_reason",
    "parent",
}
FREE = {"arguments", "opaque", "data"}  # below these a name is content, too


class Mask:
    """Encodes records without the `secrets` in their texts."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        found = {secret for secret in secrets if len(secret) >= SHORTEST}
        self._secrets = sorted(found, key=len, reverse=True)
        starts = (secret[:SHORTEST_PART] for secret in self._secrets)
        self._starts = [ENCODER.encode(start)[1:-1].encode() for start in starts]

    def encoded(self, record: Record) -> bytes:
        """The record as a line. It is looked through only where the line holds a key."""
        line = encoded(record)
        if any(start in line for start in self._starts):
            return encoded(self._walked(record, free=False))
        return line

    def text(self, text: str) -> str:
        """`text` with each key masked, and a long beginning where its end was cut off."""
        for secret in self._secrets:
            start = secret[:SHORTEST_PART]
            while (place := text.find(start)) >= 0:
                length = _common_length(secret, text[place : place + len(secret)])
                text = text[:place] + MASKED + text[place + length :]
        return text

    def _walked(self, value: Any, *, free: bool) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self._walked(each, free=free) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            self.text(name) if free else name: part
            if not free and name in FIXED
            else self._walked(part, free=free or name in FREE)
            for name, part in value.items()
        }


def _common_length(left: str, right: str) -> int:
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
