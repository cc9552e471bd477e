"""With nothing set the user is told how to begin, in the order of what is there."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager

from claw.cli.first_run import explained, local_servers
from claw.cli.settings import NothingSet
from claw.providers.presets import Preset
from tests.support.command import Shell
from tests.support.pty import Terminal
from tests.support.server import Behaviour, Peer, Request, never_answer, serve

NOTHING = NothingSet("no model server is set")


def models(*names: str) -> Behaviour:
    """Answers GET /models as model servers do."""

    def behave(peer: Peer, request: Request) -> None:
        assert (request.method, request.path) == ("GET", "/v1/models")
        peer.answer(200, json.dumps({"object": "list", "data": [{"id": n} for n in names]}))

    return behave


def other(peer: Peer, request: Request) -> None:
    """Some other program's web page."""
    peer.answer(200, "<html>Hello</html>")


def test_a_local_server_is_found_and_named() -> None:
    with serve(models("qwen", "llama")) as server, serve(other) as page:
        presets = [
            Preset("mine", server.url, local=True),
            Preset("page", page.url, local=True),
            Preset("nobody", "http://127.0.0.1:9/v1", local=True),
            Preset("remote", server.url),
        ]
        found = local_servers(presets)
    assert [(each.preset.name, each.models) for each in found] == [("mine", ("qwen", "llama"))]
    words = explained(NOTHING, found).message
    assert "mine runs here: claw --provider mine --model qwen" in words
    assert "\n" not in words


def test_a_silent_server_is_not_waited_for() -> None:
    with serve(never_answer) as server:
        assert local_servers([Preset("deaf", server.url, local=True)]) == []


def test_without_one_there_are_three_ways(shell: Shell) -> None:
    for arguments in [(), ("run", "Hi")]:
        done = shell.claw(*arguments)
        assert done.code == 2
        assert done.out == ""
        if local_servers():  # the machine that tests has one
            assert "runs here" in done.err
            continue
        lines = done.err.splitlines()
        assert len(lines) == 4
        assert "OPENAI_API_KEY" in lines[1]
        assert "--base-url" in lines[2]
        assert "claw demo" in lines[3]


def test_on_a_terminal_one_question_starts_the_demo(shell: Shell) -> None:
    with running(shell) as terminal:
        terminal.wait_for(r"Start the demo\? \[y/n\]")
        terminal.type("\r")
        assert terminal.wait_exit() == 2
    with running(shell) as terminal:
        terminal.wait_for(r"Start the demo\? \[y/n\]")
        terminal.type("y")
        terminal.wait_for("model of this demo is a script")
        terminal.type("\x03")
        assert terminal.wait_exit() == 130


def running(shell: Shell) -> AbstractContextManager[Terminal]:
    env = shell.environ(TERM="xterm")
    return Terminal.running(shell.command(), cwd=shell.folder, env=env)
