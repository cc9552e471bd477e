"""In every place of a read-only command, and in every spelling of its options: no path outside and
no file to write to hides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from claw.policy.options import Options
from claw.policy.read_only import TABLE, read_only
from tests.policy.rows import WS

OUTSIDE = ["/outside/key", "../outside/key", f"{WS}/../key"]
READERS = {name: options for name, options in TABLE.items() if options.paths}
# What a command needs before any of its words is a path; for sed it's the only script it may have.
BEFORE = {
    "egrep": ["p"],
    "fgrep": ["p"],
    "grep": ["p"],
    "rg": ["p"],
    "sed": ["-n", "1p"],
    "diff": ["--no-dereference"],
}


def spellings(options: Options) -> Iterator[list[str]]:
    """Each option by itself, with values in every way, and behind others in a cluster."""
    fillers = ["", options.short[:1], *(letter for letter in "20." if letter in options.short)]
    values = ["1", "--", "-e", "a.txt"]
    for letter in options.short + options.valued:
        for filler in dict.fromkeys([*fillers, "2"]):
            yield [f"-{filler}{letter}"]
            for value in values:
                yield [f"-{filler}{letter}{value}"]
                yield [f"-{filler}{letter}={value}"]
                yield [f"-{filler}{letter}", value]
                yield [f"-{filler}{letter}", f"-{letter}"]
                yield [f"-{letter}{filler}o", value]
    for name in options.long | options.single:
        name = name.rstrip("=")
        for value in values:
            yield [name]
            yield [name[:-1]]
            yield [f"{name}={value}"]
            yield [name, value]
            yield [name, name]


def passes(words: list[str]) -> bool:
    return not read_only(tuple(words), (WS,)).problem


@pytest.mark.parametrize("program", READERS)
def test_no_path_outside_hides_among_options(program: str) -> None:
    passed = 0
    start = [program, *BEFORE.get(program, [])]
    for option in spellings(READERS[program]):
        for words in ([*start, *option, "a.txt"], [*start, *option, "--", "a.txt"]):
            passed += passes(words)
            for place in range(len(start), len(words) + 1):
                line = [*words[:place], OUTSIDE[place % len(OUTSIDE)], *words[place:]]
                assert not passes(line), line
    assert passed > 0 or READERS[program] == TABLE["rev"]  # which has no options


@pytest.mark.parametrize("program", READERS)
def test_no_path_outside_hides_in_the_word_of_an_option(program: str) -> None:
    known = READERS[program]
    names = [f"-{letter}" for letter in known.short + known.valued]
    names += [name.rstrip("=") for name in known.long | known.single]
    for name in names:
        for glued in ("", "="):
            for filler in ("", *known.short):
                cluster = f"-{filler}{name[1:]}" if len(name) == 2 else name
                line = [*BEFORE.get(program, []), f"{cluster}{glued}/outside/key", "a.txt"]
                assert not passes([program, *line]), line


@pytest.mark.parametrize("program", ["grep", "egrep", "fgrep", "rg"])
def test_no_path_outside_hides_where_an_option_gives_the_pattern(program: str) -> None:
    for giver in (["-e", "p"], ["-ep"], ["-ie", "p"], ["--regexp=p"], ["--regexp", "p"]):
        for option in spellings(READERS[program]):
            words = [program, *giver, *option, "a.txt"]
            for place in range(1, len(words) + 1):
                line = [*words[:place], "/outside/key", *words[place:]]
                assert not passes(line), line


def test_no_second_file_of_uniq_hides() -> None:
    passed = 0
    known = TABLE["uniq"]
    for option in spellings(known):
        takes_next = len(option) == 1 and option[0][1:2] != "-" and option[0][-1] in known.valued
        if len(option) == 1 and not takes_next:
            for words in ([*option, "a.txt"], ["a.txt", *option], [*option, "--", "a.txt"]):
                passed += passes(["uniq", *words])
                for place in range(len(words) + 1):
                    line = ["uniq", *words[:place], "out", *words[place:]]
                    assert not passes(line), line
        assert not passes(["uniq", "--", *option, "out"]), option
        assert not passes(["uniq", *option, "a.txt", "b.txt", "out"]), option
    assert passed > 10
