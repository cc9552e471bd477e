"""Characters that no eye sees, or sees as another one: policy and questions know the same set."""

from __future__ import annotations

import re

# Of all that Python calls printable, these letters and variation selectors show nothing.
SHOWING_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)


def has_unseen(text: str) -> bool:
    """Whether any character of `text` can't be seen as what it is: controls (newline and tab are
    two), bidi and zero-width characters, blanks that aren't the blank, and what no font knows."""
    return not text.isprintable() or SHOWING_NOTHING.search(text) is not None
