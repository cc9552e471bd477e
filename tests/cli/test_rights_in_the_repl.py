"""What the user grants and takes back in a conversation: /plan and /go, /undo, /permissions."""

from __future__ import annotations

from pathlib import Path

from tests.support.repl import CUE, PROMPT, Start, leave
from tests.support.server import Server

ASKED = r"^\[y/(a/)?n/w\]$"


def offered(server: Server, request: int = -1) -> set[str]:
    """The tools that the model was offered."""
    return {tool["function"]["name"] for tool in server.requests[request].body["tools"]}


def test_a_plan_offers_reading_alone_until_the_user_says_go(start: Start, server: Server) -> None:
    with start("extra") as terminal:
        terminal.type("/plan look around\r")
        terminal.wait_for("^You said look around$")
        terminal.wait_for(PROMPT)
        assert "look around" in server.requests[-1].messages[-1]["content"]
        assert "Planning" in server.requests[-1].messages[-1]["content"]
        assert "read_file" in offered(server)
        assert not offered(server) & {"bash", "write_file", "edit_file"}
        terminal.type("bash touch x\r")  # the model calls what it isn't offered
        terminal.wait_for("there is no tool named 'bash'")
        terminal.wait_for(PROMPT)
        terminal.type("/go\r")
        terminal.wait_for("^You said Go ahead and do it")
        terminal.wait_for(PROMPT)
        assert {"bash", "write_file", "edit_file"} <= offered(server)
        terminal.type("/go\r")
        terminal.wait_for("there is no plan")
        leave(terminal)


def test_undo_puts_back_what_the_last_turn_wrote(start: Start, home: Path) -> None:
    new = home.parent / "work" / "new.txt"
    with start("extra") as terminal:
        for content, told in (("first", "created"), ("second", "overwrote")):
            terminal.type(f"write {content}\r")
            terminal.wait_for(ASKED)
            terminal.type("y")
            terminal.wait_for(f"^Told: {told} new.txt")
            terminal.wait_for(PROMPT)
            assert new.read_text() == content
        terminal.type("/undo\r")
        terminal.wait_until(lambda: new.read_text() == "first")
        terminal.wait_for(PROMPT)
        terminal.type("/undo\r")
        terminal.wait_until(lambda: not new.exists())
        leave(terminal)


def test_a_grant_is_listed_and_can_be_taken_back(start: Start) -> None:
    with start("extra") as terminal:
        terminal.type("bash touch x\r")
        terminal.wait_for(CUE)
        terminal.type("a")
        terminal.wait_for("^Told:")
        terminal.wait_for(PROMPT)
        terminal.type("bash touch x\r")
        terminal.wait_for("^Told:", count=2)
        terminal.wait_for(PROMPT)
        terminal.type("/permissions\r")
        terminal.wait_for("^  1  allowed for this session: exactly touch x$")
        terminal.wait_for(PROMPT)
        terminal.type("/permissions 1\r")
        terminal.wait_for(PROMPT)
        terminal.type("bash touch x\r")
        terminal.wait_for(CUE)
        terminal.type("n")
        terminal.wait_for(PROMPT)
        leave(terminal)


def test_the_model_asks_the_user(start: Start) -> None:
    with start("extra") as terminal:
        terminal.type("ask which colour?\r")
        terminal.wait_for("^the model asks:$")
        terminal.wait_for(r"^\[1/2/n/w\]$")
        terminal.type("2")
        terminal.wait_for("^Told: .*blue")
        terminal.wait_for(PROMPT)
        leave(terminal)
