"""A long conversation, with all that a user may do to it in between: its file always tells what
the model is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from claw.messages import Message
from claw.store import SessionStore
from tests.support.pty import Terminal
from tests.support.repl import PROMPT, Start, ask, enter, leave
from tests.support.server import Server
from tests.support.storing import check_whole

Said: TypeAlias = tuple[str, ...]
"""A line that somebody said, a call or a result, without where one message ends."""


def in_the_file(messages: Sequence[Message]) -> list[Said]:
    """What the messages tell."""
    said: list[Said] = []
    for message in messages:
        said += [(message.role, line) for line in message.text.split("\n") if line]
        said += [(c.id, c.name, json.dumps(c.arguments)) for c in message.tool_calls]
        said += [(result.call_id, result.content) for result in message.tool_results]
    return said


def on_the_wire(messages: Sequence[Mapping[str, Any]]) -> Iterator[Said]:
    """The same of what a server was sent."""
    for message in messages:
        if message["role"] == "tool":
            yield message["tool_call_id"], message["content"]
        elif message["role"] != "system":
            for line in (message["content"] or "").split("\n"):
                if line:
                    yield message["role"], line
            for call in message.get("tool_calls", ()):
                function = call["function"]
                arguments = json.dumps(json.loads(function["arguments"]))
                yield call["id"], function["name"], arguments


class Talk:
    """The conversation, and the only session of its user, as it was after the last turn."""

    def __init__(self, start: Start, server: Server, store: SessionStore, stack: ExitStack) -> None:
        self._start = start
        self._server = server
        self._store = store
        self._stack = stack
        self._terminal: Terminal = self._stack.enter_context(start("extra", "--approve", "all"))
        self._messages: Sequence[Message] = ()

    @property
    def length(self) -> int:
        return len(self._messages)

    def turn(self, number: int) -> None:
        """One turn of whatever kind; the file and what was sent are compared after it."""
        turns = (self._words, self._call, self._cut_off, self._file, self._cut_off_in_a_call)
        before = in_the_file(self._messages)
        roles = turns[number % len(turns)](number)
        self._load()
        now = in_the_file(self._messages)
        sent = list(on_the_wire(self._server.requests[-1].messages))
        assert sent[: len(before)] == before, "the model wasn't sent what the file held"
        assert now[: len(sent)] == sent, "the file doesn't hold what the model was sent"
        end = [message.role for message in self._messages[len(self._messages) - len(roles) :]]
        assert end == roles
        assert in_the_file(self._messages[: len(self._messages) - len(roles)]) == sent

    def between(self, number: int) -> None:
        """What comes before a turn, if anything does."""
        if number % 47 == 12:
            self._clear()
        elif number % 47 == 24:
            self._compact()
        elif number % 7 in (1, 6):
            self.leave()
            self._terminal = self._stack.enter_context(
                self._start("extra", "--approve", "all", "-c")
            )
        elif number % 7 == 3:
            self._undo()

    def leave(self) -> None:
        leave(self._terminal)
        self._stack.close()
        before = self._messages
        self._load()
        assert self._messages == before

    # --- turns: each returns the roles of what the model was not sent yet -----------------------

    def _words(self, number: int) -> list[str]:
        ask(self._terminal, f"hello {number}")
        return ["assistant"]

    def _call(self, number: int) -> list[str]:
        ask(self._terminal, f"bash seq {1000 + number}", "^Told:")
        return ["assistant"]

    def _file(self, number: int) -> list[str]:
        ask(self._terminal, f"write content {number}", "^Told: (created|overwrote) new.txt")
        return ["assistant"]

    def _cut_off(self, number: int) -> list[str]:
        enter(self._terminal, f"hold on {number}")
        self._terminal.wait_for("^It begins$")
        self._interrupt()
        return []

    def _cut_off_in_a_call(self, number: int) -> list[str]:
        enter(self._terminal, f"bash echo {number}; sleep 60")
        self._terminal.wait_for(r"^waiting for bash, \d s$")
        self._interrupt()
        return ["assistant", "tool"]

    def _interrupt(self) -> None:
        self._terminal.type("\x03")
        self._terminal.wait_for("^.interrupted")
        self._terminal.wait_for(PROMPT)

    # --- what comes between them ----------------------------------------------------------------

    def _clear(self) -> None:
        enter(self._terminal, "/clear", "^the conversation is empty")
        self._load()
        assert self._messages == ()

    def _compact(self) -> None:
        enter(self._terminal, "/compact", "^note: compacted: about")
        before = self.length
        self._load()
        assert 0 < self.length < before

    def _undo(self) -> None:
        enter(self._terminal, "/undo", "^no longer part of the conversation: ")
        last = max(i for i, message in enumerate(self._messages) if message.role == "user")
        before = self._messages[:last]
        self._load()
        assert self._messages == before

    def _load(self) -> None:
        [info] = self._store.list()
        replayed = self._store.load(info.id)
        assert replayed.notices() == []
        self._messages = replayed.session.messages
        check_whole(self._messages)


@pytest.mark.parametrize("turns", [25, pytest.param(200, marks=pytest.mark.stress)])
def test_the_file_tells_what_the_model_is_sent(
    turns: int, start: Start, server: Server, home: Path
) -> None:
    with ExitStack() as stack:
        talk = Talk(start, server, SessionStore(home / "sessions"), stack)
        for number in range(turns):
            talk.between(number)
            talk.turn(number)
        talk.leave()
