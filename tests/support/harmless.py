"""Whether a text may be sent to a terminal as it is."""

from __future__ import annotations

import unicodedata

JOINERS = "\u200c\u200d"  # emoji and several scripts need them
HOSTILE_MARKS = set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def is_harmless(text: str) -> bool:
    """Nothing moves, hides or reorders: no C0 but tab and newline, DEL, C1, bidi, tags."""
    return not any(
        character not in "\n\t" + JOINERS
        and (
            unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
            or character in HOSTILE_MARKS
            or 0xE0000 <= ord(character) < 0xE1000
        )
        for character in text
    )
