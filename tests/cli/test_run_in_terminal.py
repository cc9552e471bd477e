"""`claw run` where somebody sits: the trust question, approvals, and text that is only text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.command import Shell
from tests.support.pty import Terminal
from tests.support.server import (
    Server,
    Turn,
    model,
    one_delta_then_silence,
    reply,
    serve,
    status,
    stream,
)
from tests.support.wire import chunk, text_reply

WRITE = Turn("I write.", (("call_1", "bash", {"command": "touch made"}),))


@contextmanager
def running(shell: Shell, server: Server, *arguments: str) -> Iterator[Terminal]:
    argv = shell.command("run", "Go", *arguments)
    env = shell.environ(TERM="xterm", CLAW_BASE_URL=server.url, CLAW_MODEL="m")
    with Terminal.running(argv, cwd=shell.folder, env=env) as terminal:
        yield terminal


def trust(shell: Shell, answer: bool) -> None:
    file = shell.home / "trust.json"
    file.write_text(json.dumps({str(shell.folder.resolve()): answer}))


def test_the_trust_question_comes_once_and_before_anything_is_sent(shell: Shell) -> None:
    (shell.folder / "AGENTS.md").write_text("Answer in Latin.")
    with serve(reply("Salve")) as server:
        with running(shell, server) as terminal:
            terminal.wait_for(r"\[y/n\]")
            assert "Do you trust" in terminal.text
            assert server.requests == []
            terminal.type("y")
            terminal.wait_for("Salve")
            assert terminal.wait_exit() == 0
        with running(shell, server) as terminal:
            terminal.wait_for("Salve")
            assert terminal.wait_exit() == 0
            assert "trust" not in terminal.text
    for request in server.requests:
        assert "Answer in Latin." in request.messages[0]["content"]


def test_ctrl_c_at_the_trust_question_leaves_it_open(shell: Shell) -> None:
    with serve(reply("Salve")) as server, running(shell, server) as terminal:
        terminal.wait_for(r"\[y/n\]")
        terminal.type("\x03")
        assert terminal.wait_exit() == 130
    assert server.requests == []
    assert not (shell.home / "trust.json").exists()


def test_an_approval_is_asked_for_and_heeded(shell: Shell) -> None:
    trust(shell, False)
    for key, made in [("n", False), ("y", True)]:
        with serve(model(WRITE, "Done.")) as server, running(shell, server) as terminal:
            terminal.wait_for(r"\[y/a/n/w\]")
            assert "touch made" in terminal.text
            terminal.type(key)
            terminal.wait_for("Done")
            assert terminal.wait_exit() == 0
        assert Path(shell.folder / "made").exists() == made


def test_ctrl_c_in_mid_stream(shell: Shell) -> None:
    trust(shell, False)
    with serve(one_delta_then_silence) as server, running(shell, server) as terminal:
        terminal.wait_for("Hel")
        terminal.type("\x03")
        assert terminal.wait_exit() == 130
        assert terminal.modes() == terminal.modes_before


def test_the_models_text_cannot_move_the_cursor(shell: Shell) -> None:
    trust(shell, False)
    with serve(reply("be", "\x1b[2J", "fore\x1b]0;title\x07 after")) as server:
        with running(shell, server) as terminal:
            terminal.wait_for("before after")
            assert terminal.wait_exit() == 0
        assert "\x1b[2J" not in terminal.transcript
        assert "title" not in terminal.transcript


def test_thinking_is_dim_and_apart_from_the_answer(shell: Shell) -> None:
    trust(shell, False)
    thinking = chunk({"reasoning_content": "Let me see."})
    with serve(stream(thinking, *text_reply("Yes."))) as server:
        with running(shell, server) as terminal:
            terminal.wait_for(r"^Yes\.")
            assert terminal.wait_exit() == 0
            assert "Let me see.\n\nYes." in terminal.text
            assert "\x1b[2mLet me see." in terminal.transcript
        for arguments in (("--quiet",), ("--no-color",)):
            with running(shell, server, *arguments) as terminal:
                terminal.wait_for(r"^Yes\.")
                assert terminal.wait_exit() == 0
                assert "Let me see" not in terminal.text


def test_the_wait_for_a_rate_limit_is_counted_down_and_ctrl_c_ends_it(shell: Shell) -> None:
    trust(shell, False)
    slow = status(429, "slow down", Retry_After="60")
    with serve(slow) as server, running(shell, server) as terminal:
        first = terminal.wait_for(r"trying again in (\d+) s \(Ctrl-C ends the turn\)")
        lower = int(first[1]) - 1
        terminal.wait_for(rf"trying again in {lower} s \(Ctrl-C")
        terminal.type("\x03")
        assert terminal.wait_exit() == 130
        assert "Ctrl-C ends" not in terminal.text
        assert "[interrupted]" in terminal.text
