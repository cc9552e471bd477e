"""Commands inside a command: what `env`, `xargs`, `sh -c`, `find -exec` and the like start."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from claw.policy.command_line import parse
from claw.policy.words import KEYWORDS, UNKNOWN, Words, operand_places, word_set
from claw.values import frozen

DEEPEST = 8
# How much text inside of commands is read, in characters; each text costs some more, to begin it.
MOST_TEXT = 20_000
TEXT_COSTS = 40

Inside: TypeAlias = Words | str
"""What is found in a command: a command, or text that a shell takes apart."""

SHELLS = word_set("sh bash dash zsh ksh mksh ash rbash fish")
FIND_HANDS_OVER = word_set("-exec -execdir -ok -okdir")
SETTING = re.compile(r"\w+=.*", re.DOTALL)
DURATION = re.compile(r"\d+(\.\d+)?[smhd]?")


@frozen
class Wrapper:
    """A program that runs the command in its arguments.

    valued: its options that take the next word. operands: its own words before the command.
    query: an option with which it runs nothing. adds: it adds words that can't be seen here.
    behind: its subcommands that run one; with others it doesn't.
    """

    valued: frozenset[str] = frozenset()
    operands: int = 0
    query: str = ""
    adds: bool = False
    behind: frozenset[str] = frozenset()


def _wrapper(
    valued: str = "", operands: int = 0, query: str = "", adds: bool = False, behind: str = ""
) -> Wrapper:
    return Wrapper(word_set(valued), operands, query, adds, word_set(behind))


WRAPPERS = {
    "builtin": _wrapper(),
    "bundle": _wrapper(behind="exec"),
    "bunx": _wrapper(),
    "busybox": _wrapper(),
    "chroot": _wrapper(operands=1),
    "chrt": _wrapper(operands=1),
    "command": _wrapper(query="vV"),
    "direnv": _wrapper(operands=1, behind="exec"),
    "doas": _wrapper("-C -u"),
    "entr": _wrapper(),
    "env": _wrapper("-u --unset -C --chdir -a --argv0"),
    "exec": _wrapper("-a"),
    "fakeroot": _wrapper(),
    "flock": _wrapper("-w --wait --timeout -E --conflict-exit-code", operands=1),
    "hatch": _wrapper(behind="run"),
    "ionice": _wrapper("-c --class -n --classdata -p --pid"),
    "ltrace": _wrapper("-e -o -p -s -u"),
    "nice": _wrapper("-n --adjustment"),
    "nohup": _wrapper(),
    "npm": _wrapper(behind="exec x"),
    "npx": _wrapper(),
    "parallel": _wrapper("-j --jobs", adds=True),
    "pdm": _wrapper(behind="run"),
    "pipenv": _wrapper(behind="run"),
    "pipx": _wrapper(behind="run"),
    "pnpm": _wrapper(behind="exec dlx"),
    "poetry": _wrapper(behind="run"),
    "prlimit": _wrapper(),
    "runuser": _wrapper("-u --user -g -G"),
    "rustup": _wrapper(operands=1, behind="run"),
    "setarch": _wrapper(),
    "setpriv": _wrapper("--reuid --regid --groups"),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "strace": _wrapper("-e -o -p -s -u -E -P -O -S -a -b -X"),
    "sudo": _wrapper("-u --user -g --group -h --host -p --prompt -C -r -t -T -U -D --chdir -R"),
    "taskset": _wrapper(operands=1),
    "time": _wrapper("-f --format -o --output"),
    "timeout": _wrapper("-s --signal -k --kill-after", operands=1),
    "toybox": _wrapper(),
    "unshare": _wrapper(),
    "uv": _wrapper("--with --python -p", behind="run"),
    "uvx": _wrapper("--with --from --python -p"),
    "watch": _wrapper("-n --interval -q --equexit"),
    "xargs": _wrapper(
        "-a --arg-file -d --delimiter -E -I -L -n --max-args -P --max-procs -s --max-chars",
        adds=True,
    ),
    "yarn": _wrapper(behind="exec dlx"),
    **dict.fromkeys(KEYWORDS, _wrapper()),  # where the grammar takes one for a command
}


def base_name(word: str) -> str:
    """The program a word names, as a system without letter case in file names may find it."""
    return word.rsplit("/", 1)[-1].casefold()


def hands_over(words: Words) -> bool:
    """Whether this command's program runs commands that it finds in its arguments, whatever its
    options are (find does with some, which harmless.py leaves out)."""
    name = base_name(words[0])
    wrapper = WRAPPERS.get(name)
    if wrapper is not None and wrapper.behind:
        return any(words[place] in wrapper.behind for place in _first_operand(words, wrapper))
    return name in INSIDE


def start_of_inner(words: Words) -> int | None:
    """Where in `words` the command of a wrapper begins, or a shell's text or script."""
    name = base_name(words[0])
    if name in SHELLS:
        start, _ = _shell_operand(words)
        return start
    if name in WRAPPERS:
        return _start_in_wrapper(words, WRAPPERS[name])
    return 1 if len(words) > 1 else None


def all_commands(commands: Iterable[Words]) -> tuple[tuple[Words, ...], bool]:
    """The commands and those inside of them, `(UNKNOWN,)` for one that can't be known; and whether
    that is all of them, since not all text is read if there is much."""
    found: list[Words] = []
    left = MOST_TEXT
    waiting: deque[tuple[Inside, int]] = deque((words, 0) for words in commands)
    while waiting:
        inside, depth = waiting.popleft()
        if isinstance(inside, str):
            left -= len(inside) + TEXT_COSTS
            waiting += [(words, depth) for words in parse(inside).commands] if left >= 0 else []
            continue
        found.append(inside)
        if depth < DEEPEST:
            waiting += [(each, depth + 1) for each in _inside(inside)]
        elif any(_inside(inside)):
            found.append((UNKNOWN,))
    return (*found, *([] if left >= 0 else [(UNKNOWN,)])), left >= 0


def _inside(words: Words) -> Iterator[Inside]:
    name = base_name(words[0])
    if name == "find":
        return _inside_find(words)
    return INSIDE[name](words) if hands_over(words) else iter(())


def _inside_text(words: Words) -> Iterator[Inside]:
    if UNKNOWN in words:
        yield (UNKNOWN,)
    yield " ".join(words)


def _inside_shell(words: Words) -> Iterator[Inside]:
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


def _inside_find(words: Words) -> Iterator[Inside]:
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


def _inside_wrapper(words: Words) -> Iterator[Inside]:
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
    start = next(islice(places, wrapper.operands + bool(wrapper.behind), None), None)
    options = [word for word in words[1:start] if word[:1] == "-"]
    return None if any(set(wrapper.query) & set(word) for word in options) else start


def _first_operand(words: Words, wrapper: Wrapper) -> Iterator[int]:
    return islice(operand_places(words, wrapper.valued), 1)


INSIDE: Mapping[str, Callable[[Words], Iterator[Inside]]] = {
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
