"""Characters that no eye sees, or sees as another one: policy and questions know the same set."""

from __future__ import annotations

import re

# Of all that Python calls printable (which nothing is that Unicode hasn't assigned), these letters,
# signs and variation selectors show nothing. The ranges that Unicode says to ignore are here as a
# whole, so that it doesn't matter which version of it this Python knows.
SHOWING_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\uffa0\ufff0-\ufffb\U00013441\U00013442\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)


def has_unseen(text: str) -> bool:
    """Whether any character of `text` can't be seen as what it is: controls (newline and tab are
    two), bidi and zero-width characters, blanks that aren't the blank, and what no font knows."""
    return not text.isprintable() or SHOWING_NOTHING.search(text) is not None
