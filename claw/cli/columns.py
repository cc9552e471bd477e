"""How many terminal columns a text takes, without a dependency."""

from __future__ import annotations

import unicodedata

ZERO_WIDTH = ("Mn", "Me", "Cf")


def columns(text: str) -> int:
    """The columns of a line: wide characters (CJK, emoji) take two, combining ones none."""
    return len(text) if text.isascii() else sum(_width(character) for character in text)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns, with "..." where something was left out."""
    if columns(text) <= width:
        return text
    room, kept = width - 3, 0
    for character in text:
        room -= _width(character)
        if room < 0:
            break
        kept += 1
    return text[:kept] + "..."


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in ZERO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
