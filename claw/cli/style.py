"""How text is painted: by what it is, never by colour. Plain text stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

Role: TypeAlias = Literal[
    "tool", "dim", "error", "notice", "question", "caution", "added", "removed", "place"
]
Paint: TypeAlias = Callable[[str, Role], str]

DIFF_HEAD = re.compile(r"^--- .*\n\+\+\+ .*\n@@ ", re.MULTILINE)
DIFF_ROLES: dict[str, Role] = {"+": "added", "-": "removed", "@": "place"}


def plain(text: str, role: Role) -> str:
    """Paints nothing: without the `terminal` extra, without colour, and where nobody looks."""
    return text


def is_diff(text: str) -> bool:
    """Whether `text` holds a unified diff, rather than lines that begin with a plus or a minus."""
    return DIFF_HEAD.search(text) is not None


def paint_diff(text: str, paint: Paint) -> list[str]:
    """The lines of `text`; those of a diff are painted as added, removed or naming a place."""
    lines = text.split("\n")
    if not is_diff(text):
        return lines
    return [paint(line, role) if (role := _role_of(line)) else line for line in lines]


def _role_of(line: str) -> Role | None:
    return "dim" if line.startswith(("--- ", "+++ ")) else DIFF_ROLES.get(line[:1])
