"""Which options a command may be given, and which of its words are operands."""

from __future__ import annotations

import re
from collections.abc import Callable

from claw.policy.words import Words
from claw.values import frozen

NUMBER = r"-\d+"
NEGATIVE = re.compile(r"-\d+[A-Za-z]?")
GIVES_PATTERN = frozenset({"-e", "--regexp", "--files"})


@frozen
class Options:
    """What a command may be given.

    short: letters without a value. valued: letters that take the rest of the word or the next
    word. long: names; those with `=` take a value. single: whole words, as find and go have them
    (`-name`), in the same spelling as `long`. like: a regular expression of further whole words,
    such as `-5`. leading: so many operands before the paths are something else, such as grep's
    pattern. paths: the other operands are paths. most: so many of them. free: any words at all.
    glued: a value may stand in its letter's own word. fits: a last look at all words.

    `valued` has no letter whose value may be left out: the next word would then be an operand.
    """

    short: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    single: frozenset[str] = frozenset()
    like: str = ""
    leading: int = 0
    paths: bool = True
    most: int | None = None
    free: bool = False
    glued: bool = True
    fits: Callable[[Words], bool] = lambda words: True


@frozen
class Parts:
    """A command's words behind the program, by what they are.

    unknown: the first one that the options don't know, None if they know all; the rest is then
    left out. values: of options, in their own word or the next. paths: the operands behind the
    leading ones. late: an option behind an operand, which BSD's programs take for another operand.
    """

    unknown: str | None = None
    operands: Words = ()
    values: Words = ()
    paths: Words = ()
    late: str = ""


def take_apart(options: Options, words: Words) -> Parts:
    """Reads the words as the program does, and refuses what two programs could read in two ways.

    So a word with a dash is an option before `--` and nothing else anywhere: it is no operand but
    a pattern, and no value but a number.
    """
    if options.free:
        return Parts(operands=words, paths=words)
    operands: list[str] = []
    values: list[str] = []
    leading = options.leading
    late = ""
    is_value = has_ended = False
    for word in words:
        is_dashed = word[:1] == "-" and len(word) > 1
        if is_value:
            if is_dashed and not NEGATIVE.fullmatch(word):
                return Parts(unknown=word)
            values.append(word)
            is_value = False
        elif not is_dashed or (has_ended and len(operands) < leading):
            operands.append(word)
        elif has_ended:
            return Parts(unknown=word)
        elif word == "--":
            has_ended = True
        else:
            option = _option(options, word)
            if option is None:
                return Parts(unknown=word)
            late = word if operands else late
            leading = 0 if option.leads_nowhere else leading
            values += [option.value] if option.value else []
            is_value = option.takes_next
    return Parts(None, tuple(operands), tuple(values), tuple(operands[leading:]), late)


@frozen
class _Option:
    """One word with options. value: in the word, "" for none. leads_nowhere: behind it no operand
    surely is a pattern, since it is one itself or the next word may be its value."""

    value: str = ""
    takes_next: bool = False
    leads_nowhere: bool = False


def _option(options: Options, word: str) -> _Option | None:
    """The options in one word; None if any isn't known."""
    name, equals, value = word.partition("=")
    if options.like and re.fullmatch(options.like, word):
        return _Option()
    if word in options.single or (equals and f"{name}=" in options.single):
        return _Option(value)
    if f"{word}=" in options.single:
        return _Option(takes_next=True)
    if word[:2] == "--":
        if name + equals in options.long:
            return _Option(value, leads_nowhere=name in GIVES_PATTERN)
        # Some programs want the next word as its value and some don't, so it is an operand too.
        return _Option(leads_nowhere=True) if f"{name}=" in options.long else None
    for place, letter in enumerate(word[1:], start=2):
        if letter in options.valued:
            value = word[place:]
            if value and not options.glued:
                return None
            return _Option(value, not value, leads_nowhere=f"-{letter}" in GIVES_PATTERN)
        if letter not in options.short:
            return None
    return _Option()


def options(
    short: str = "",
    valued: str = "",
    long: str = "",
    *,
    single: str = "",
    like: str = "",
    leading: int = 0,
    paths: bool = True,
    most: int | None = None,
    free: bool = False,
    glued: bool = True,
    fits: Callable[[Words], bool] = lambda words: True,
) -> Options:
    """Options, written as texts."""
    names = frozenset(f"--{name}" for name in long.split())
    whole = frozenset(f"-{name}" for name in single.split())
    return Options(short, valued, names, whole, like, leading, paths, most, free, glued, fits)
