"""A line typed while a turn runs: it is queued, and becomes the next message at the next step."""

from __future__ import annotations

import io
import os
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw import Engine, MemoryReporter, ProviderError, Reporter, Session, allow_all, tool
from claw.cli.steering import Steering, messages_in
from claw.cli.terminal import Terminal as UsersTerminal
from claw.events import Notice
from claw.providers import ScriptedProvider, text_turn, tool_turn
from tests.support.pty import Terminal
from tests.support.repl import CUE, PROMPT, USAGE, Model, Start, leave
from tests.support.server import Server

FLAVOURS = ["extra", "plain", "dumb", "bare"]
TOOL = """\
import time
from pathlib import Path
from claw import ToolContext, tool


@tool(read_only=True)
def step(context: ToolContext) -> str:
    \"\"\"Waits for a file.\"\"\"
    Path("begun").touch()
    while not Path("go").exists():
        if context.cancel.wait(0.01):
            context.cancel.raise_if_cancelled()
    Path("go").unlink()
    return "stepped"
"""


@pytest.fixture
def work(home: Path) -> Path:
    """The workspace of a user who has a tool that waits for a file named `go`."""
    (home / "steps.py").write_text(TOOL)
    (home / "config.toml").write_text('tools = ["steps:step"]\n')
    return home.parent / "work"


def in_a_step(terminal: Terminal, work: Path) -> None:
    """A turn whose first call runs."""
    terminal.type("tool step\r")
    terminal.wait_until((work / "begun").exists)


def said(server: Server) -> list[str]:
    """What the user said, as the last request has it; joined messages line by line."""
    texts = [m["content"] for m in server.requests[-1].messages if m["role"] == "user"]
    return [line for text in texts for line in text.split("\n") if line]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_line_typed_during_a_call_is_the_next_message(
    flavour: str, start: Start, server: Server, work: Path
) -> None:
    with start(flavour) as terminal:
        in_a_step(terminal, work)
        terminal.type("and be quick\rthr")
        (work / "go").touch()
        terminal.wait_for("^note: queued: and be quick$")
        terminal.wait_for("^You said and be quick$")
        assert said(server) == ["tool step", "and be quick"]
        terminal.wait_for("^claw> thr$")
        terminal.type("ee\r")
        terminal.wait_for("^You said three$")
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_line_typed_before_a_question_is_taken_after_it(
    flavour: str, start: Start, model: Model, server: Server
) -> None:
    """The question had set it aside, with the beginning of the next one."""
    with start(flavour) as terminal:
        terminal.type("later touch x\r")
        terminal.wait_modes(termios.NOFLSH, True)
        terminal.type("one\rtwo\rthr")
        model.go.set()
        terminal.wait_for(CUE)
        terminal.type("n")
        terminal.wait_for("^note: queued: one\nnote: queued: two$")
        terminal.wait_for("^You said two$")
        assert said(server) == ["later touch x", "one", "two"]
        terminal.wait_for("^claw> thr$")
        terminal.type("ee\r")
        terminal.wait_for("^You said three$")
        terminal.wait_for(PROMPT)
        leave(terminal)


def test_several_lines_with_a_backslash_are_one_message(
    start: Start, server: Server, work: Path
) -> None:
    with start("extra") as terminal:
        in_a_step(terminal, work)
        terminal.type("first\\\rsecond\r")
        (work / "go").touch()
        terminal.wait_for("^note: queued: first second$")
        terminal.wait_for("^You said second$")
        assert "first\nsecond" in str(server.requests[-1].messages[-1]["content"])
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", ["extra", "plain"])
def test_a_command_waits_for_the_prompt_and_so_does_what_is_behind_it(
    flavour: str, start: Start, server: Server, work: Path
) -> None:
    with start(flavour) as terminal:
        in_a_step(terminal, work)
        terminal.type("now\r/clear\rnext thing\r")
        (work / "go").touch()
        terminal.wait_for("^You said now$")
        terminal.wait_for("^the conversation is empty")
        terminal.wait_for("^You said next thing$")
        assert said(server) == ["next thing"]
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_ctrl_c_brings_what_was_typed_back_into_the_prompt_and_sends_nothing(
    flavour: str, start: Start, server: Server, work: Path
) -> None:
    with start(flavour) as terminal:
        in_a_step(terminal, work)
        terminal.type("wait\r\x03")
        terminal.wait_for(r"^\[interrupted\]$")
        terminal.wait_for("^claw> wait$")
        terminal.wait_asleep()
        assert len(server.requests) == 1
        terminal.type(" a bit\r")
        terminal.wait_for("^You said wait a bit$")
        assert said(server) == ["tool step", "wait a bit"]
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", ["extra", "plain"])
def test_several_lines_and_a_command_come_back_as_one_text(
    flavour: str, start: Start, server: Server, work: Path
) -> None:
    with start(flavour) as terminal:
        in_a_step(terminal, work)
        terminal.type("one\r/clear\rtwo\x03")
        terminal.wait_for(r"^\[interrupted\]$")
        terminal.wait_for(r"^claw> one\n(\.\.\.   )?/clear\n(\.\.\.   )?two$")
        terminal.wait_asleep()
        terminal.type("\r")
        terminal.wait_for("^You said two$")
        assert said(server) == ["tool step", "one", "/clear", "two"]
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", ["extra", "plain"])
def test_what_was_queued_and_not_answered_comes_back_too(
    flavour: str, start: Start, server: Server, work: Path
) -> None:
    """It leaves the conversation: sent again, it isn't there twice."""
    with start(flavour) as terminal:
        in_a_step(terminal, work)
        terminal.type("silent\r")
        (work / "go").touch()
        terminal.wait_for("^note: queued: silent$")
        terminal.wait_for("^waiting for the first token")
        terminal.type("please\x03")
        terminal.wait_for(r"^\[interrupted\]$")
        terminal.wait_for(r"^claw> silent\n(\.\.\.   )?please$")
        terminal.wait_asleep()
        terminal.type(", go on\r")
        terminal.wait_for("^You said please, go on$")
        assert said(server) == ["tool step", "silent", "please, go on"]
        roles = [message["role"] for message in server.requests[-1].messages]
        assert roles[-3:] == ["assistant", "tool", "user"]
        terminal.wait_for(PROMPT)
        leave(terminal)


def test_what_was_answered_does_not_come_back(start: Start, work: Path) -> None:
    with start("extra") as terminal:
        in_a_step(terminal, work)
        terminal.type("hold on\r")
        (work / "go").touch()
        terminal.wait_for("^It begins$")
        terminal.type("\x03")
        terminal.wait_for("^.interrupted")
        terminal.wait_for("^claw> hold on$")
        terminal.wait_asleep()
        terminal.type("\x03")  # clears it
        terminal.wait_for(r"Ctrl-C again leaves\)$")
        terminal.wait_for(PROMPT)
        (work / "begun").unlink()
        in_a_step(terminal, work)
        terminal.type("answer this\r")
        (work / "go").touch()
        terminal.wait_for("^You said answer this$")
        terminal.wait_for(USAGE)
        terminal.wait_for(PROMPT)
        leave(terminal)


def test_hidden_characters_are_taken_out(start: Start, server: Server, work: Path) -> None:
    with start("extra") as terminal:
        in_a_step(terminal, work)
        terminal.type("up\x1b[Aand \u202eover\r")
        (work / "go").touch()
        terminal.wait_for("^note: queued: upand over$")
        terminal.wait_for("^You said upand over$")
        assert said(server) == ["tool step", "upand over"]
        terminal.wait_for(PROMPT)
        leave(terminal)


# --- what comes back, without a conversation ----------------------------------------------------


@pytest.fixture
def terminal() -> Iterator[UsersTerminal]:
    """One that nobody types at; `set_aside` is what was typed."""
    ours, theirs = os.openpty()
    yield UsersTerminal(theirs, io.StringIO(), can_ask=True, shows=True)
    os.close(ours)
    os.close(theirs)


def after_a_step(steering: Steering, *then: object, max_steps: int = 50) -> tuple[Session, str]:
    """A turn with one call, then `then`; and what it gives back, nobody having cancelled it."""
    provider = ScriptedProvider(tool_turn("note"), *then)  # type: ignore[arg-type]
    engine = Engine(provider, tools=[note], approver=allow_all, steering=steering)
    engine.max_steps, session = max_steps, Session()
    with suppress(ProviderError):
        engine.run(session, "go")
    return session, steering.give_back(session, cancelled=False)


@tool
def note() -> str:
    """Notes."""
    return ""


def test_after_an_answer_nothing_comes_back(terminal: UsersTerminal) -> None:
    memory = MemoryReporter()
    terminal.set_aside("one\ntwo")
    session, back = after_a_step(Steering(terminal, Shown(memory)), text_turn("done"))
    assert [m.text for m in session.messages if m.role == "user"] == ["go", "one"]
    assert memory.notices == ["queued: one"]
    assert (back, terminal.take_keys()) == ("", "two")


@pytest.mark.parametrize("limit", [True, False])
def test_what_a_turn_could_not_answer_comes_back(limit: bool, terminal: UsersTerminal) -> None:
    """It had no step left, or its next request failed."""
    terminal.set_aside("one\ntwo\n/help\nthr")
    failure = ProviderError("no more room")
    steering = Steering(terminal, Reporter())
    session, back = after_a_step(steering, failure, max_steps=1 if limit else 50)
    assert [m.role for m in session.messages] == ["user", "assistant", "tool"]
    assert (back, terminal.take_keys()) == ("one\ntwo\n/help\nthr", "")


def test_a_long_line_is_shown_in_short_and_sent_whole(terminal: UsersTerminal) -> None:
    memory = MemoryReporter()
    terminal.set_aside("x" * 3000 + "\n")
    session, _ = after_a_step(Steering(terminal, Shown(memory)), text_turn("done"))
    assert len(memory.notices[0]) < 220
    assert len(session.messages[3].text) == 3000


class Shown(Reporter):
    """Tells `memory` what it is told directly, as the engine tells it events."""

    def __init__(self, memory: MemoryReporter) -> None:
        self._memory = memory

    def on_notice(self, text: str) -> None:
        self._memory.on_event(Notice(text))


# --- which keys are messages --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "messages", "rest"),
    [
        ("", [], ""),
        ("unfinished", [], "unfinished"),
        ("one\ntwo\nthr", ["one", "two"], "thr"),
        ("\n  \none\n", ["one"], ""),
        ("one\\\ntwo\n", ["one\ntwo"], ""),
        ("one\\\n", [], "one\\\n"),
        ("one\\\n\n", ["one\n"], ""),
        ("/usr/lib is full\n", ["/usr/lib is full"], ""),
        ("one\n/help\ntwo\n", ["one"], "/help\ntwo\n"),
        ("one\n!ls\ntwo\n", ["one"], "!ls\ntwo\n"),
        ("  !ls\n", [], "  !ls\n"),
        ("\x1b[A/help\n", [], "\x1b[A/help\n"),
        ("one\ntw\x03o\n", ["one"], "tw\x03o\n"),
    ],
)
def test_messages_in(keys: str, messages: list[str], rest: str) -> None:
    assert messages_in(keys) == (messages, rest)


@given(st.text(alphabet="ab\\\n/! \x03"))
def test_no_key_is_lost(keys: str) -> None:
    messages, rest = messages_in(keys)
    assert keys.endswith(rest)
    taken = keys[: len(keys) - len(rest)]
    assert "\n".join(messages).split() == taken.replace("\\\n", "\n").split()
