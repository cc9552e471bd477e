"""How deep JSON text is nested and where it ends, found without parsing it."""

from __future__ import annotations

import re

# Half of what the interpreter's stack can hold: what is read here must be writable elsewhere.
MAX_DEPTH = 500

STRUCTURE = re.compile(r'[{}\[\]"\\]')


class Nesting:
    """Follows the brackets and quotes of JSON text that comes in fragments; each is read once.

    depth, greatest_depth: of brackets that are open, and the most there ever were.
    closed_at: how many characters the first value took that has brackets; None while it is open.
    """

    __slots__ = ("_escaped", "_quoted", "_seen", "_started", "closed_at", "depth", "greatest_depth")

    def __init__(self, text: str = "") -> None:
        self.depth = 0
        self.greatest_depth = 0
        self.closed_at: int | None = None
        self._seen = 0
        self._started = False
        self._quoted = False
        self._escaped = False
        self.add(text)

    @property
    def whole(self) -> bool:
        """Something came, and nothing that was opened is still open."""
        return self._started and not self._quoted and self.depth <= 0

    def add(self, text: str) -> None:
        """Reads on."""
        skipped = 0 if self._escaped else -1  # the place of an escaped character
        for match in STRUCTURE.finditer(text):
            at, mark = match.start(), match[0]
            if at == skipped:
                continue
            if mark == "\\":
                skipped = at + 1
            elif mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted:
                self._turn(mark in "{[", self._seen + at + 1)
        if text:
            self._escaped = skipped == len(text)
            self._seen += len(text)
            self._started = self._started or not text.isspace()

    def _turn(self, opens: bool, seen: int) -> None:
        self.depth += 1 if opens else -1
        self.greatest_depth = max(self.greatest_depth, self.depth)
        if self.depth <= 0 and self.closed_at is None:
            self.closed_at = seen


def too_deep(text: str) -> bool:
    """Whether JSON text is nested more than MAX_DEPTH deep. Cheap for all that isn't."""
    if len(text) <= 2 * MAX_DEPTH or text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    return Nesting(text).greatest_depth > MAX_DEPTH
