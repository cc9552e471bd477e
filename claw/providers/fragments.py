"""Text that comes in fragments: halves of surrogate pairs are joined, lone ones replaced.

A server may cut a character between two JSON escapes: "\\ud83d" in one delta and "\\ude00" in the
next. Such a half can't be written as UTF-8, so it waits for the fragment after it; one that stays
alone becomes U+FFFD.
"""

from __future__ import annotations

import json
from typing import Any


def mend(text: str) -> str:
    """`text` with halves of surrogate pairs joined, lone ones replaced: writable as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def mend_json(value: Any) -> Any:
    """A decoded JSON value fit to be sent back: all text mended, null for NaN and Infinity."""
    text = mend(json.dumps(value, ensure_ascii=False))
    return json.loads(text, parse_constant=lambda name: None)


class Fragments:
    """Fragments of one text, kept in a list and joined once."""

    __slots__ = ("_half", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    def add(self, text: str) -> str:
        """Takes a fragment; returns what can be shown now, without a half at its end."""
        if self._half or not text.isascii():
            text = self._half + text
            self._half = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
            text = mend(text.removesuffix(self._half))
        self._pieces.append(text)
        return text

    def end(self) -> str:
        """No other half is to come: what a half that waits turns into."""
        if not self._half:
            return ""
        self._half = ""
        self._pieces.append("\ufffd")
        return "\ufffd"

    def joined(self) -> str:
        return "".join(self._pieces) + mend(self._half)
