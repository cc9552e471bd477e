"""Text from outside as a part of a line: file names, command lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    """Valid text that stays on its line and forges no other: bytes that aren't UTF-8, line ends
    and control characters are escaped. All else stays, so that a path can still be used."""
    valid = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), valid)


def first_few(items: Sequence[str], most: int, joint: str = ", ") -> str:
    """The first `most` of them, and how many more there are."""
    more = len(items) - most
    return joint.join([*items[:most], *([f"and {more:,} more"] if more > 0 else [])])
