"""What .gitignore says, read as git reads it: patterns, negation, and which file has the word.

Source: gitignore(5). Git itself isn't run: a stranger's repository can make it start programs.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from claw.tools.open_flags import READING
from claw.tools.wildcards import name_regex, path_regex
from claw.values import frozen

IGNORE_FILE_BYTES = 100_000


@frozen
class Rule:
    """One line. by_name: it is matched with the last part of a path alone, at any depth."""

    regex: str
    by_name: bool
    folders_only: bool
    negated: bool


class IgnoreFile:
    """The rules of one file. base: how many characters of a path lead to its folder."""

    def __init__(self, text: str, base: int = 0) -> None:
        self._base = base
        rules = [rule for line in text.split("\n") if (rule := rule_of(line)) is not None]
        self._rules = [(rule, re.compile(rule.regex, re.DOTALL)) for rule in reversed(rules)]
        self._name = _any_of(rule.regex for rule in rules if rule.by_name)
        self._path = _any_of(rule.regex for rule in rules if not rule.by_name)

    def says(self, path: str, name: str, is_folder: bool) -> bool | None:
        """True: ignored, False: not ignored, None: nothing about this path. The last rule wins.

        path: with / between its parts; what leads to it isn't ignored. name: its last part.
        """
        path = path[self._base :]
        # Most paths match no rule, so that one look at all of them saves one at each.
        if not self._name.fullmatch(name) and not self._path.fullmatch(path):
            return None
        for rule, regex in self._rules:
            if (is_folder or not rule.folders_only) and regex.fullmatch(
                name if rule.by_name else path
            ):
                return not rule.negated
        return None


def is_ignored(files: Sequence[IgnoreFile], path: str, name: str, is_folder: bool) -> bool:
    """files: the outermost first; the innermost that says anything has the word."""
    for file in reversed(files):
        verdict = file.says(path, name, is_folder)
        if verdict is not None:
            return verdict
    return False


def rule_of(line: str) -> Rule | None:
    """None for a comment, an empty line, and a pattern that can match nothing."""
    text = _without_blanks_at_end(line.removesuffix("\r"))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[negated:]
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    by_name = "/" not in text
    text = text.removeprefix("/")
    if not text:
        return None
    try:
        regex = name_regex(text) if by_name else path_regex(text)
    except ValueError:
        return None
    return Rule(regex, by_name, folders_only, negated)


def read_ignore_file(name: str | Path, base: int, folder: int | None = None) -> IgnoreFile | None:
    """The rules of a file, as `base` characters of a path lead to its folder; None if there is
    none, or it is no regular file. folder: a descriptor that `name` is relative to."""
    try:
        descriptor = os.open(name, READING, dir_fd=folder)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = os.read(descriptor, IGNORE_FILE_BYTES)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return IgnoreFile(data.decode("utf-8-sig", "surrogateescape"), base)


def _any_of(regexes: Iterator[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{regex})" for regex in regexes) or "(?!)", re.DOTALL)


def _without_blanks_at_end(line: str) -> str:
    """Blanks at the end don't count, unless the first of them is escaped."""
    bare = line.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return f"{bare} " if escapes % 2 and bare != line else bare
