"""`claw local` in a real terminal, with a fake server program: no way out leaves the child behind.

The command's own code runs; the program that it starts is the one thing that a test chooses.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import fake_llama
from tests.support.command import Finished, Shell
from tests.support.processes import alive, gone_within
from tests.support.pty import Terminal

PROMPT = r"^claw>$"
GONE_S = 1.0  # measured: 0.02
COMMAND = """
import sys
from pathlib import Path
from claw.cli.failures import guarded
from claw.cli.local import converse_locally
from claw.cli.settings import Flags

program, file, template = sys.argv[1:]
sys.exit(guarded(lambda: converse_locally(
    Flags(), file, chat_template=template, program=Path(program))))
"""


def model_file(shell: Shell, behaviour: str) -> Path:
    file = shell.folder / f"{behaviour}.gguf"
    file.write_bytes(b"GGUF and more")
    return file


def trust(shell: Shell) -> None:
    (shell.home / "trust.json").write_text(json.dumps({str(shell.folder.resolve()): True}))


Start = Callable[..., Any]


@pytest.fixture
def start(shell: Shell) -> Start:
    """Starts `claw local BEHAVIOUR.gguf`; when the test is over, no child is left."""

    @contextmanager
    def running(
        behaviour: str, *, template: str = "", trusted: bool = True, **options: Any
    ) -> Iterator[Terminal]:
        file = model_file(shell, behaviour)
        if trusted:
            trust(shell)
        argv = [sys.executable, "-c", COMMAND, fake_llama.__file__, str(file), template]
        proxy = "http://127.0.0.1:9"  # where nobody is
        env = shell.environ(TERM="xterm", http_proxy=proxy, CLAW_API_KEY="another-key")
        with Terminal.running(argv, cwd=shell.folder, env=env, columns=200, **options) as terminal:
            yield terminal
        assert gone_within(GONE_S, str(file)), alive(str(file))

    return running


def child_gone(shell: Shell) -> bool:
    return gone_within(GONE_S, f"-P {fake_llama.__file__} {shell.folder}")


def leave(terminal: Terminal) -> None:
    """Ctrl-D at the prompt after the first turn."""
    terminal.wait_for(r"^\[1 step, ")
    terminal.wait_for(PROMPT)
    terminal.type("\x04")
    assert terminal.wait_exit() == 0


def test_a_conversation_with_a_model_file(shell: Shell, start: Start) -> None:
    with start("quick") as terminal:
        terminal.wait_for(r"^claw with quick in")
        terminal.wait_for(PROMPT)
        terminal.type("hello\r")
        terminal.wait_for(r"^I am \[.*'--alias', 'quick', '--context', '16384'\]\.$")
        terminal.type("/exit\r")
        assert terminal.wait_exit() == 0
        assert terminal.modes() == terminal.modes_before
        assert child_gone(shell)
    assert "llama.cpp loads quick: 0 s" in terminal.transcript
    assert "loads" not in terminal.text


def test_a_chat_template_reaches_the_server(shell: Shell, start: Start) -> None:
    template = shell.folder / "t.jinja"
    template.write_text("{{ messages }}")
    with start("quick", template="t.jinja") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("hello\r")
        terminal.wait_for(r"--chat-template")
        leave(terminal)


def test_the_fallbacks_of_other_conversations_do_not_count(shell: Shell, start: Start) -> None:
    shell.config.write_text('fallback = ["openai:gpt-5"]\n')  # a missing key would be told
    with start("quick") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("hello\r")
        leave(terminal)


def test_ctrl_c_in_the_conversation_is_not_the_servers(shell: Shell, start: Start) -> None:
    with start("quick") as terminal:
        terminal.wait_for(PROMPT)
        terminal.wait_asleep()
        terminal.type("\x03")
        terminal.wait_for("Ctrl-C again leaves")
        terminal.type("still there?\r")
        terminal.wait_for(r"^I am ")
        leave(terminal)


def test_the_wait_shows_its_seconds_and_ctrl_c_ends_it_at_once(shell: Shell, start: Start) -> None:
    with start("slow") as terminal:
        terminal.wait_for(r"^llama\.cpp loads slow: 1 s \(Ctrl-C ends it\)$")
        terminal.type("\x03")
        assert terminal.wait_exit() == 130
        assert "loads" not in terminal.text
        assert terminal.modes() == terminal.modes_before
        assert child_gone(shell)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGKILL, 137)],
)
@pytest.mark.parametrize(
    ("behaviour", "trusted", "seen"),
    [("slow", True, "loads slow"), ("quick", True, PROMPT), ("quick", False, "trust")],
    ids=["loading", "at the prompt", "at the question of trust"],
)
def test_no_signal_leaves_the_server_behind(
    shell: Shell,
    start: Start,
    number: signal.Signals,
    code: int,
    behaviour: str,
    trusted: bool,
    seen: str,
) -> None:
    with start(behaviour, trusted=trusted) as terminal:
        terminal.wait_for(seen)
        terminal.wait_asleep()
        terminal.kill(number)
        if number is signal.SIGINT and seen == PROMPT:
            terminal.wait_for("Ctrl-C again leaves")
            terminal.wait_asleep()
            terminal.kill(number)
        assert terminal.wait_exit() == code
        assert child_gone(shell)


@pytest.mark.parametrize("behaviour", ["slow", "quick"])
def test_a_closed_window_ends_it(shell: Shell, start: Start, behaviour: str) -> None:
    with start(behaviour, holder=False) as terminal:
        terminal.wait_for("loads slow" if behaviour == "slow" else PROMPT)
        assert terminal.close_window() == 129


@pytest.mark.stress
@pytest.mark.parametrize("instant", range(30))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_at_no_instant_the_server_is_left_behind(
    shell: Shell, start: Start, number: signal.Signals, instant: int
) -> None:
    with start("quick") as terminal:
        threading.Event().wait(instant * 0.03)
        terminal.kill(number)


def test_a_server_that_does_not_start_is_quoted(start: Start) -> None:
    with start("failing") as terminal:
        assert terminal.wait_exit() == 1
        said = terminal.text
    assert "claw: llama.cpp didn't start (exit code 1). Its last lines:" in said
    assert "    line 8\n    no \ufffd[31mmemory" in said
    assert "first line" not in said
    assert "\x1b[31m" not in terminal.transcript


def test_without_llama_cpp_the_words_say_what_to_install(start: Start) -> None:
    with start("missing") as terminal:
        assert terminal.wait_exit() == 2
        assert "claw: claw local needs llama.cpp's server: pip install" in terminal.text
        assert "'claw-engine[local]'" in terminal.text


def test_a_server_that_crashes_later_is_told_about_at_the_end(start: Start) -> None:
    with start("crashing") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("hello\r")
        terminal.wait_for("^I am ")
        leave(terminal)
        assert "llama.cpp ended by itself (9)." in terminal.text
        assert "    out of memory" in terminal.text


def in_terminal(shell: Shell, *arguments: str) -> Finished:
    argv = shell.command("local", *arguments)
    env = shell.environ(TERM="xterm")
    with Terminal.running(argv, cwd=shell.folder, env=env, columns=200) as terminal:
        return Finished(terminal.wait_exit(), "", terminal.text)


def test_bad_input_gets_one_line(shell: Shell) -> None:
    (shell.folder / "text.gguf").write_text("Not a model")
    model_file(shell, "good")
    (shell.folder / "bad.jinja").write_bytes(b"\xff\xfe")
    (shell.folder / "long.jinja").write_bytes(b"x" * 1_000_001)
    os.mkfifo(shell.folder / "fifo")
    for arguments, words in (
        (["none.gguf"], "none.gguf: there is no such file"),
        (["."], ". can't be read: it is no plain file; give a model file"),
        (["fifo"], "fifo can't be read: it is no plain file"),
        (["a" * 5000], "can't be read: File name too long"),
        (["~nosuchuser/x"], "~nosuchuser/x: ~ leads to no home folder"),
        (["text.gguf"], "text.gguf is no GGUF file"),
        (["good.gguf", "--chat-template", "none.jinja"], "can't be read: No such file"),
        (["good.gguf", "--chat-template", "bad.jinja"], "can't be read: it isn't text in UTF-8"),
        (["good.gguf", "--chat-template", "long.jinja"], "can't be read: it is over 1000 kB"),
        (["good.gguf", "--chat-template", "fifo"], "can't be read: it is no plain file"),
        (["good.gguf", "--chat-template", "/dev/zero"], "can't be read: it is no plain file"),
        (["good.gguf", "--chat-template", "~nosuchuser/x"], "~ leads to no home folder"),
        (["good.gguf", "--base-url", "http://127.0.0.1:1/v1"], "starts a server of its own"),
    ):
        done = in_terminal(shell, *arguments)
        assert done.code == 2, done
        assert words in " ".join(done.err.split())
        assert "internal error" not in done.err


def test_it_needs_a_terminal(shell: Shell) -> None:
    done = shell.claw("local", str(model_file(shell, "quick")))
    assert done.code == 2
    assert done.err == "claw: claw local is a conversation and needs a terminal\n"
