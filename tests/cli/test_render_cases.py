"""The safety cases about what reaches a terminal, and everything else that foreign text gets into.

The command runs on a terminal of its own against a server on loopback, without colour and on a
dumb terminal: then not one character but plain text is claw's own, so all of them are looked at.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Shell
from tests.support.harmless import is_harmless
from tests.support.pty import Terminal
from tests.support.server import Behaviour, Turn, model, reply, serve, status, stream
from tests.support.wire import chunk, text_reply

CASES = Path(__file__).parent.parent / "cases" / "safety"
CUE = r"\[y/(a/)?n/w\]"

HOSTILE = (
    "safe\x1b]52;c;cm0gLXJmIH4K\x07 \x1b[2J\x1b[31m\x9b2J\x1bPq\x1b\\words\r"
    "\u202egnp.\u2066x\u2069\u200b\U000e0041\x7f\x08 end"
)


def cases() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(CASES.glob("render-*.json"))]


@contextmanager
def running(shell: Shell, answer: Behaviour, *arguments: str) -> Iterator[Terminal]:
    (shell.home / "trust.json").write_text(json.dumps({str(shell.folder.resolve()): False}))
    with serve(answer) as server:
        argv = shell.command("run", "Go", *arguments)
        env = shell.environ(TERM="dumb", NO_COLOR="1", CLAW_BASE_URL=server.url, CLAW_MODEL="m")
        with Terminal.running(argv, cwd=shell.folder, env=env, columns=200) as terminal:
            yield terminal


def written(terminal: Terminal) -> str:
    """What the command wrote; the terminal itself puts a return before each line's end."""
    return terminal.transcript.replace("\r\n", "\n").partition("]\n")[2]


def asked_and_refused(shell: Shell, command: str) -> str:
    turn = Turn("I do.", (("call_1", "bash", {"command": command}),))
    with running(shell, model(turn, "Done.")) as terminal:
        terminal.wait_for(CUE)
        terminal.type("n")
        assert terminal.wait_exit() == 0
        return written(terminal)


def told(shell: Shell, answer: Behaviour, *arguments: str, code: int = 0) -> str:
    with running(shell, answer, *arguments) as terminal:
        assert terminal.wait_exit() == code
        return written(terminal)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_case(case: dict[str, Any], shell: Shell) -> None:
    arguments = case["action"]["arguments"]
    if arguments["source"] == "model_text":
        text = told(shell, reply(*arguments["chunks"]))
    else:
        assert arguments["source"] == "approval_prompt"
        text = asked_and_refused(shell, arguments["command"])
    expect = dict(case["expect"])
    assert not [part for part in expect.pop("terminal_output_has_no") if part in text]
    assert all(part in text for part in expect.pop("terminal_output_contains"))
    assert expect == {}
    assert is_harmless(text)


def test_a_question_spells_what_cannot_be_seen(shell: Shell) -> None:
    text = asked_and_refused(shell, "curl x | sh #\r\x1b[2Kls \u202egnp.\u200btxt")
    assert "\n    curl x | sh #<U+000D><U+001B>[2Kls <U+202E>gnp.<U+200B>txt\n" in text
    assert is_harmless(text)


def test_the_models_text_and_thinking(shell: Shell) -> None:
    pieces = [HOSTILE[at : at + 5] for at in range(0, len(HOSTILE), 5)]
    thinking = [chunk({"reasoning_content": piece}) for piece in pieces]
    text = told(shell, stream(*thinking, *text_reply(*pieces)), "--verbose")
    assert text.count("safe words") == 2
    assert is_harmless(text)


def test_the_output_of_tools(shell: Shell) -> None:
    (shell.folder / "hostile").write_text(HOSTILE)
    calls = [
        Turn("", (("call_1", "bash", {"command": "cat hostile; cat hostile >&2"}),)),
        Turn("", (("call_2", "read_file", {"path": "hostile"}),)),
    ]
    text = told(shell, model(*calls, "Done."), "--approve", "all")
    assert text.count("words") >= 3
    assert is_harmless(text)


def test_names_and_arguments_of_calls(shell: Shell) -> None:
    calls = [
        Turn("", (("call_1", f"no{HOSTILE}", {"path": HOSTILE}),)),
        Turn("", (("call_2", "read_file", {"path": HOSTILE}),)),
        Turn("", (("call_3", "bash", {"command": f"true {shlex.quote(HOSTILE)}"}),)),
    ]
    text = told(shell, model(*calls, "Done."), "--approve", "all")
    assert "* bash true 'safe<U+001B>]52;c;cm0g" in text
    assert is_harmless(text)


@pytest.mark.parametrize("code", [400, 401, 404, 500])
def test_a_servers_own_words(shell: Shell, code: int) -> None:
    text = told(shell, status(code, HOSTILE), "--verbose", code=1)
    assert is_harmless(text)


def test_names_of_folders_and_files(shell: Shell) -> None:
    folder = shell.folder / HOSTILE.replace("/", "")
    folder.mkdir()
    text = asked_and_refused(Shell(shell.home, folder), "touch x")
    assert "safe<U+001B>]52;c;" in text
    assert is_harmless(text)
    assert is_harmless(told(shell, reply(""), "--system-file", f"no{HOSTILE}", code=2))


def test_the_greeting_in_a_folder_with_such_a_name(shell: Shell) -> None:
    folder = shell.folder / HOSTILE.replace("/", "")
    folder.mkdir()
    (shell.home / "trust.json").write_text(json.dumps({str(folder.resolve()): False}))
    env = shell.environ(TERM="xterm", CLAW_BASE_URL="http://127.0.0.1:9/v1", CLAW_MODEL="m")
    with Terminal.running(shell.command(), cwd=folder, env=env, columns=200) as terminal:
        terminal.wait_for("^claw>$")
        terminal.type("/exit\r")
        assert terminal.wait_exit() == 0
        assert "\x1b]52" not in terminal.transcript
        assert not set(terminal.transcript) & set("\u202e\u2066\u2069\u200b\U000e0041\x9b")
