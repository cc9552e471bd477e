"""A sub-agent in a conversation: what it does is shown, its questions are asked, Ctrl-C ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.peer import Peer, Request
from tests.support.repl import CUE, FLAVOURS, PROMPT, Model, Start, leave
from tests.support.server import Server

TOOLS = """\
from claw.engine.task import task_tool

task = task_tool(may_use=lambda tool: True)
"""


class Delegating(Model):
    """`task WORDS` gives the words to a sub-agent, which the same model plays."""

    def _task(self, peer: Peer, request: Request, prompt: str) -> None:
        self._call(peer, request, "task", description="a part", prompt=prompt)


@pytest.fixture
def model() -> Model:
    return Delegating()


@pytest.fixture
def work(home: Path) -> Path:
    """The workspace of a user who lets tasks act."""
    (home / "tasks.py").write_text(TOOLS)
    (home / "config.toml").write_text('tools = ["tasks:task"]\n[sandbox]\nmode = "off"\n')
    return home.parent / "work"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_its_questions_are_asked_like_all_others(flavour: str, start: Start, work: Path) -> None:
    with start(flavour) as terminal:
        terminal.type("task bash touch made\r")
        terminal.wait_for(r"^\* task a part prompt=bash touch made\n  \* bash touch made$")
        terminal.wait_for("^    touch made$")
        terminal.wait_for(CUE)
        terminal.type("y")
        terminal.wait_for("^Told: Told:")
        terminal.wait_for(PROMPT)
        assert (work / "made").exists()
        leave(terminal)


@pytest.mark.parametrize("words", ["silent", "bash touch made", "hold on"])
def test_ctrl_c_ends_it_with_the_turn(words: str, start: Start, server: Server, work: Path) -> None:
    with start("extra") as terminal:
        terminal.type(f"task {words}\r")
        if words.startswith("bash"):
            terminal.wait_for(CUE)
        else:
            terminal.wait_for(r"^waiting for task: the (first token|reply), \d+ s$")
        terminal.type("\x03")
        terminal.wait_for(r"^\[interrupted\]$")
        terminal.wait_for(PROMPT)
        terminal.wait_asleep()
        terminal.type("go on\r")
        terminal.wait_for("^You said go on$")
        assert not (work / "made").exists()
        roles = [message["role"] for message in server.requests[-1].messages]
        assert roles[-4:] == ["user", "assistant", "tool", "user"]
        assert "interrupted" in str(server.requests[-1].messages[-2]["content"])
        terminal.wait_for(PROMPT)
        leave(terminal)
