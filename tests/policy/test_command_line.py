"""Reading a command line, and the proof that a plain one means the same to bash."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from claw.policy.command_line import CommandLine, parse
from claw.policy.words import UNKNOWN

# bash hands every command it can't find to this function, so we see the words that it would run.
# Twice: once all commands succeed, once all fail, so that both && and || go on.
LISTENING = """\
command_not_found_handle() {{ printf '%s\\0' "$#" "$@" >&9; return {status}; }}
PATH=/nowhere
"""


def words_bash_runs(text: str, status: int) -> set[tuple[str, ...]]:
    """The words of every command that bash comes to when all end with `status`."""
    read_end, write_end = os.pipe()
    try:
        subprocess.run(
            ["bash", "-c", LISTENING.format(status=status) + text, "bash"],
            env={"LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.dup2(write_end, 9),
            close_fds=False,
            timeout=10,
            check=False,
        )
    finally:
        os.close(write_end)
    with open(read_end, "rb") as stream:
        pieces = stream.read().decode().split("\0")[:-1]
    found = set()
    while pieces:
        count = int(pieces[0])
        found.add(tuple(pieces[1 : count + 1]))
        pieces = pieces[count + 1 :]
    return found


PIECES = st.sampled_from(
    [
        *["xa", "yb", "zc", "1", "2", "12", "-x", "--yy=z", "a=1", "x+=1", "%", "@x", ",", "x.y"],
        *["'q q'", "''", '""', '"d d"', "'a;b'", '"a|b"', "'\n'", '"\n"', "'$x'", '"#"', "'\"'"],
        *[
            "'\\'",
            '"\\"',
            '"\\\\"',
            "\\",
            "\\\n",
            "$x",
            "$'x'",
            '$"x"',
            "`",
            "$(",
            "(",
            ")",
            "{",
            "}",
        ],
        *[
            " ",
            " ",
            " ",
            " ",
            "\t",
            "\n",
            ";",
            "&&",
            "||",
            "|",
            "&",
            "|&",
            ";;",
            "!",
            "#",
            "~",
            "*",
        ],
        *[
            "if",
            "then",
            "fi",
            "do",
            "done",
            "time",
            "coproc",
            "function",
            "case",
            "in",
            "esac",
            "[[",
        ],
        *[
            "2>&1",
            ">&2",
            ">/dev/null",
            "2> /dev/null",
            "&>/dev/null",
            "1>&2",
            "12>&1",
            "<",
            ">",
            "<<",
        ],
        *["'", '"', "é", "\r", "\x01", "\u200b", "]", "^", "?", "xa yb", " | ", " && ", " ; "],
    ]
)
LINES = st.lists(PIECES, max_size=14).map("".join)
PLAIN_PIECES = st.sampled_from(
    [
        *["xa", "yb", "-x", "2", "a=1", "'q q'", '"d;d"', "''", "'\n'", " ", " ", " ", "\t", "\n"],
        *[
            ";",
            " && ",
            "||",
            "|",
            " 2>&1",
            " >/dev/null",
            " >&2",
            "&>/dev/null",
            ":x",
            "do",
            "time",
        ],
    ]
)
PLAIN_LINES = st.lists(PLAIN_PIECES, max_size=14).map("".join)


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.one_of(LINES, PLAIN_LINES))
def test_a_line_without_doubt_is_exactly_what_bash_runs(text: str) -> None:
    line = parse(text)
    # bash looks for a name with a slash nowhere, so it doesn't hand it on.
    if line.doubt or any("/" in words[0] for words in line.commands):
        return
    ran = words_bash_runs(text, 0) | words_bash_runs(text, 1)
    # What bash knows itself never gets to the function; no piece is the name of a builtin.
    assert ran == set(line.commands)


def test_the_plain_lines_that_bash_is_asked_about_are_many() -> None:
    """Else the test above would show nothing."""
    import random

    chance = random.Random(7)
    pieces = ["xa", "yb", "-x", "'q q'", '"d;d"', " ", " ", ";", " && ", "||", "|", " 2>&1", "\n"]
    lines = ["xa" + "".join(chance.choices(pieces, k=8)) for _ in range(500)]
    plain = [line for line in lines if not parse(line).doubt]
    assert len(plain) > 50
    for text in plain[:50]:
        ran = words_bash_runs(text, 0) | words_bash_runs(text, 1)
        assert ran == set(parse(text).commands), text


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (
            "ls -la && cat 'a b' \"c d\" | wc; x",
            [["ls", "-la"], ["cat", "a b", "c d"], ["wc"], ["x"]],
        ),
        ("a\n\n b 'x\ny'", [["a"], ["b", "x\ny"]]),
        ("a'b'\"c\"d ''", [["abcd", ""]]),
        ("a 2>&1 | b >/dev/null", [["a"], ["b"]]),
        ('"a b" c', [["a b", "c"]]),
    ],
)
def test_plain_lines(text: str, commands: list[list[str]]) -> None:
    assert parse(text) == CommandLine(tuple(map(tuple, commands)))


@pytest.mark.parametrize(
    ("text", "doubt", "commands"),
    [
        ("a > f b", "a redirect into a file", [["a", "b"]]),
        (">f a <<<x b", "a redirect into a file", [["a", "b"]]),
        ("a <<E b\nq\nE", "a here-document", [["a", "b"]]),
        ("a $(b c) d", "a command substitution", [["a", UNKNOWN, "d"], ["b", "c"]]),
        ("a\\ b c", "a backslash", [["a b", "c"]]),
        ('a "b\\"c"', "a backslash", [["a", 'b"c']]),
        ("a\\\nb c", "a backslash", [["a", "b", "c"], ["ab", "c"]]),
        ("x=1 a", "an assignment", [["a"]]),
        ("a-b=1", "an assignment", [["a-b=1"]]),
        ("a & b", "a background job", [["a"], ["b"]]),
        ("a *.py", "a file name pattern", [["a", UNKNOWN]]),
        ("a ~", "an unquoted ~", [["a", UNKNOWN]]),
        ("a {b,c}", "an unquoted {", [["a", UNKNOWN]]),
        ("a {} -I{} ';' {}{b,c}", "an unquoted {", [["a", "{}", "-I{}", ";", UNKNOWN]]),
        ("a $'b' $'\\x62'", "a $'...' string", [["a", "b", UNKNOWN]]),
        ('a "$b" "c $d"', "a variable", [["a", UNKNOWN, UNKNOWN]]),
        ("export A=1", "a command that sets variables", [["export", UNKNOWN]]),
        ("a # b", "a comment", [["a"]]),
        ("while a; do b; done", "a loop", [["a"], ["b"]]),
        ("time a", "the shell keyword time", [["time", "a"]]),
        ("a (", "text that can't be parsed", None),
        ("a '\u202e'", "a character that can't be seen", [["a", "\u202e"]]),
        ("a '\ud800'", "a character that can't be seen", [["a", "\ud800"]]),
        ("{\U000f1234 {1..\u8a0e} \0", "a character that can't be seen", None),
        ("é 'ü' ñ=1", "an unquoted é", [["é", "ü", "ñ=1"]]),
        ("a 'é' \"\u8a0e\" $(b)", "a command substitution", [["a", "é", "\u8a0e", UNKNOWN], ["b"]]),
        ("%1", "a job", [["%1"]]),
        ("", "nothing that runs", []),
        ("\n>/dev/null", "nothing that runs", []),
        ("a |& b", "shell syntax: |&", [["a"], ["b"]]),
    ],
)
def test_lines_with_a_doubt(text: str, doubt: str, commands: list[list[str]] | None) -> None:
    line = parse(text)
    assert line.doubt == doubt
    if commands is not None:
        assert line.commands == tuple(map(tuple, commands))


@pytest.mark.parametrize(
    "unit", ["x|", "-|", "+|", '"|', "a=( ", "a[ ", "${a", "<<A ", "(", "$(", "`", "((", "|!", ")"]
)
def test_a_line_of_any_size_takes_a_bounded_time(unit: str) -> None:
    for size in (4_000, 130_000):
        began = time.thread_time()
        line = parse((unit * size)[:size])
        assert time.thread_time() - began < 3
        assert line.doubt
        assert line.whole or UNKNOWN in [words[0] for words in line.commands]


def test_long_plain_lines_are_read_as_a_whole() -> None:
    line = parse(" && ".join(["true x"] * 1_500))
    assert (len(line.commands), line.doubt) == (1_500, "")
    text = "cat > f <<'E'\n" + "it's (x) $y `z` \"\n" * 5_000 + "E\n"
    assert parse(text) == CommandLine((("cat",),), "a redirect into a file")


@given(st.text(st.characters(codec=None), max_size=200) | LINES)
def test_reading_never_raises(text: str) -> None:
    line = parse(text)
    assert isinstance(line, CommandLine)
    assert all(line.commands)


def test_a_line_as_models_write_it_is_read_in_no_time() -> None:
    line = "cd src && grep -rn 'def main' . | head -20 && pytest -q tests 2>&1 | tail -5"
    parse(line)  # the grammar is loaded now
    began = time.thread_time()
    for _ in range(100):
        parse(line)
    assert (time.thread_time() - began) / 100 < 0.0012  # measured: 0.12 ms
