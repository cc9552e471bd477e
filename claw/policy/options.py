"""Which options a command may be given, and which of its words are operands."""

from __future__ import annotations

import re
from collections.abc import Callable

from claw.policy.words import Words
from claw.values import frozen

NUMBER = re.compile(r"-\d+")


@frozen
class Options:
    """What a read-only command may be given.

    short: letters without a value. valued: letters that take the rest of the word or the next
    word. long: names; those with `=` take a value. leading: so many words before the paths are
    something else, such as grep's pattern. paths: the other words are paths. most: so many of
    them. numbers: `-5` is an option. single: whole words, as find has them (`-name`), in the
    same spelling as `long`. free: any words at all. fits: a last look at all words.

    `valued` has no letter whose value may be left out: the next word is then not looked at.
    """

    short: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    single: frozenset[str] = frozenset()
    leading: int = 0
    paths: bool = True
    most: int | None = None
    numbers: bool = False
    free: bool = False
    fits: Callable[[Words], bool] = lambda words: True


def operands_of(options: Options, words: Words) -> list[str]:
    """The words that are neither options nor values of short options.

    A word with a dash is looked at as an option wherever it stands, after `--` and in the place of
    a value too: it can't be misread then.
    """
    befores = ("", *words)
    return [
        word
        for before, word in zip(befores, words, strict=False)
        if not _is_option(word) and not _takes_next(options, before)
    ]


def _is_option(word: str) -> bool:
    return word[:1] == "-" and len(word) > 1


def knows(options: Options, word: str) -> bool:
    if options.free or not _is_option(word):
        return True
    if word == "--" or (options.numbers and NUMBER.fullmatch(word)):
        return True
    if word in options.single or f"{word}=" in options.single:
        return True
    if word[:2] == "--":
        name, equals, _ = word.partition("=")
        return name + equals in options.long or f"{name}=" in options.long
    for letter in word[1:]:
        if letter in options.valued:
            return True
        if letter not in options.short:
            return False
    return True


def _takes_next(options: Options, word: str) -> bool:
    """Whether the next word is this option's value, and no path.

    Not after a long option: its value may be one that can be left out.
    """
    if f"{word}=" in options.single:
        return True
    if not _is_option(word) or word[:2] == "--":
        return False
    first = next((place for place, c in enumerate(word) if c in options.valued), None)
    return first == len(word) - 1


def leading_in(options: Options, words: Words) -> int:
    """How many operands come before the paths: none once grep's pattern is given by an option."""
    given = any(
        word.startswith("--regexp") or word == "--files" or re.match(r"-[A-Za-z]*e", word)
        for word in words[1:]
        if word[:1] == "-"
    )
    return 0 if given else options.leading


def options(
    short: str = "",
    valued: str = "",
    long: str = "",
    *,
    single: str = "",
    leading: int = 0,
    paths: bool = True,
    most: int | None = None,
    numbers: bool = False,
    free: bool = False,
    fits: Callable[[Words], bool] = lambda words: True,
) -> Options:
    names = frozenset(f"--{name}" for name in long.split())
    whole = frozenset(f"-{name}" for name in single.split())
    return Options(short, valued, names, whole, leading, paths, most, numbers, free, fits)
