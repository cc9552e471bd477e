"""Words: what commands are made of, and what makes one plain to both readers of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]
"""A simple command: its words without their quotes."""


def word_set(text: str) -> frozenset[str]:
    """The words of a table, written as one text."""
    return frozenset(text.split())


def operand_places(words: Words, valued: frozenset[str]) -> Iterator[int]:
    """Where, behind the program, the words stand that are neither options nor the values of those
    in `valued`, which take the next word."""
    is_value = False
    for place, word in enumerate(words[1:], start=1):
        is_option = word[:1] == "-" and not is_value
        if not (is_option or is_value):
            yield place
        is_value = is_option and word in valued


UNKNOWN = "\0"
"""Stands for a word that only the shell knows; no real word holds a NUL."""

KEYWORDS = word_set(
    "! [[ ]] { } case coproc do done elif else esac fi for function if in select then time until "
    "while"
)

# A tilde is expanded at the start of a word, and of a value in what looks like an assignment.
PLAIN_TILDE = "(?<=[A-Za-z0-9_@~])~"
PLAIN_CHARACTER = f"(?:[A-Za-z0-9_@%+=:,./-]|{PLAIN_TILDE})"
PLAIN = re.compile(f"{PLAIN_CHARACTER}+")
QUIET_REDIRECT = re.compile(r"[12]?>&[12]|(?:[12]|&)?>[ \t]*/dev/null")
