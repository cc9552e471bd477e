"""Commands inside a command: what `env`, `xargs`, `sh -c`, `find -exec` and the like start."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from claw.policy.command_line import parse
from claw.policy.words import KEYWORDS, UNKNOWN, Words, operand_places, word_set
from claw.values import frozen

DEEPEST = 8
SHELLS = word_set("sh bash dash zsh ksh mksh ash rbash fish")
FIND_HANDS_OVER = word_set("-exec -execdir -ok -okdir")
SETTING = re.compile(r"\w+=.*", re.DOTALL)
DURATION = re.compile(r"\d+(\.\d+)?[smhd]?")


@frozen
class Wrapper:
    """A program that runs the command in its arguments.

    valued: its options that take the next word. operands: its own words before the command.
    query: an option with which it runs nothing. adds: it adds words that can't be seen here.
    """

    valued: frozenset[str] = frozenset()
    operands: int = 0
    query: str = ""
    adds: bool = False


def _wrapper(valued: str = "", operands: int = 0, query: str = "", adds: bool = False) -> Wrapper:
    return Wrapper(word_set(valued), operands, query, adds)


WRAPPERS = {
    "builtin": _wrapper(),
    "busybox": _wrapper(),
    "chroot": _wrapper(operands=1),
    "command": _wrapper(query="vV"),
    "doas": _wrapper("-C -u"),
    "env": _wrapper("-u --unset -C --chdir -a --argv0"),
    "exec": _wrapper("-a"),
    "flock": _wrapper("-w --wait --timeout -E --conflict-exit-code", operands=1),
    "ionice": _wrapper("-c --class -n --classdata -p --pid"),
    "nice": _wrapper("-n --adjustment"),
    "nohup": _wrapper(),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "strace": _wrapper("-e -o -p -s -u -E -P -O -S -a -b -X"),
    "sudo": _wrapper("-u --user -g --group -h --host -p --prompt -C -r -t -T -U -D --chdir -R"),
    "time": _wrapper("-f --format -o --output"),
    "timeout": _wrapper("-s --signal -k --kill-after", operands=1),
    "toybox": _wrapper(),
    "watch": _wrapper("-n --interval -q --equexit"),
    "xargs": _wrapper(
        "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars",
        adds=True,
    ),
    **dict.fromkeys(KEYWORDS, _wrapper()),  # where the grammar takes one for a command
}


def base_name(word: str) -> str:
    """The program a word names, as a system without letter case in file names may find it."""
    return word.rsplit("/", 1)[-1].casefold()


def hands_over(words: Words) -> bool:
    """Whether this command's program runs commands that it finds in its arguments, whatever its
    options are (find does with some: risky.py knows them)."""
    return base_name(words[0]) in INSIDE


def start_of_inner(words: Words) -> int | None:
    """Where in `words` the command of a wrapper begins, or a shell's text or script."""
    name = base_name(words[0])
    if name in SHELLS:
        start, _ = _shell_operand(words)
        return start
    if name in WRAPPERS:
        return _start_in_wrapper(words, WRAPPERS[name])
    return 1 if len(words) > 1 else None


def all_commands(commands: tuple[Words, ...], depth: int = 0) -> Iterator[Words]:
    """The commands and those inside of them; `(UNKNOWN,)` for one that can't be known."""
    for words in commands:
        yield words
        inside = tuple(_inside(words))
        if inside:
            yield from all_commands(inside, depth + 1) if depth < DEEPEST else [(UNKNOWN,)]


def _inside(words: Words) -> Iterator[Words]:
    name = base_name(words[0])
    if name == "find":
        return _inside_find(words)
    return INSIDE[name](words) if name in INSIDE else iter(())


def _inside_text(words: Words) -> Iterator[Words]:
    if UNKNOWN in words:
        yield (UNKNOWN,)
    yield from parse(" ".join(words)).commands


def _inside_shell(words: Words) -> Iterator[Words]:
    start, is_text = _shell_operand(words)
    if is_text:
        yield from _inside_text(words[start : start + 1] if start is not None else (UNKNOWN,))
    elif start is None and not {"--version", "--help"} & set(words):
        yield (UNKNOWN,)  # commands come from its standard input


def _shell_operand(words: Words) -> tuple[int | None, bool]:
    """The index of a shell's first operand, and whether it is text to run, not a script's name."""
    is_text = False
    place = 1
    while place < len(words):
        word = words[place]
        if word == "--":
            place += 1
            break
        if word == UNKNOWN:
            return None, True
        if word[:1] not in ("-", "+") or word == "-":
            break
        is_text = is_text or ("c" in word and word[:2] != "--")
        takes_next = word in ("--rcfile", "--init-file") or (
            word[:2] != "--" and word[-1] in ("o", "O")
        )
        place += 2 if takes_next else 1
    return (place if place < len(words) else None), is_text


def _inside_find(words: Words) -> Iterator[Words]:
    """The commands of -exec and its like, each to its `;` or `{} +`."""
    inner: list[str] | None = None
    for word in words:
        if inner is None:
            inner = [] if word in FIND_HANDS_OVER else None
        elif word == ";" or (word == "+" and inner[-1:] == ["{}"]):
            yield (*inner, UNKNOWN)
            inner = None
        else:
            inner.append(word)
    if inner:
        yield (*inner, UNKNOWN)


def _inside_wrapper(words: Words) -> Iterator[Words]:
    name = base_name(words[0])
    wrapper = WRAPPERS[name]
    start = _start_in_wrapper(words, wrapper)
    for place, word in enumerate(words[: start or len(words)]):
        if name == "env" and re.match(r"-\w*S|--split-string", word):
            # The rest of the word, or the next one, is a line that env itself splits.
            yield from _inside_text((re.sub(r"-\w*S|--split-string=?", "", word, count=1),))
            yield from _inside_text(words[place + 1 : place + 2])
        if name == "flock" and word in ("-c", "--command"):
            yield from _inside_text(words[place + 1 : place + 2])
    if start is not None and name == "watch":  # it gives them to a shell, as one text
        yield from _inside_text(words[start:])
    elif start is not None:
        yield (*words[start:], UNKNOWN) if wrapper.adds else words[start:]


def _start_in_wrapper(words: Words, wrapper: Wrapper) -> int | None:
    places = (
        place
        for place in operand_places(words, wrapper.valued)
        if not SETTING.fullmatch(words[place])
    )
    start = next(islice(places, wrapper.operands, None), None)
    options = [word for word in words[1:start] if word[:1] == "-"]
    return None if any(set(wrapper.query) & set(word) for word in options) else start


INSIDE: Mapping[str, Callable[[Words], Iterator[Words]]] = {
    **dict.fromkeys(WRAPPERS, _inside_wrapper),
    **dict.fromkeys(SHELLS, _inside_shell),
    "eval": lambda words: _inside_text(words[1:]),
    "trap": lambda words: _inside_text(words[1:2]),
    **dict.fromkeys((".", "source"), lambda words: iter(())),  # a script, known by its name alone
}
"""The programs that run what is in their arguments, with what finds it there."""


def without_timeout(words: Words) -> Words:
    """`timeout 60 pytest` runs pytest and nothing else, so it is judged as pytest."""
    if words[0] == "timeout" and len(words) > 2 and DURATION.fullmatch(words[1]):
        return words[2:]
    return words
