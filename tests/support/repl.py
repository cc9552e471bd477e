"""A conversation with claw in a real terminal: real keys, real HTTP, and a scripted model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.support.peer import Peer, Request
from tests.support.pty import Terminal
from tests.support.server import reply, stream
from tests.support.wire import text, text_reply, tool_reply

PROMPT = r"^claw>$"
READY = r"^claw>(?! /)"  # a prompt in which something may stand, but no command
USAGE = r"^\[\d steps?, .*\]$"
CUE = r"^\[y/a/n/w\]$"
FLAVOURS = ["extra", "plain"]
MISSING = {
    "extra": [],
    "dumb": [],
    "plain": ["rich", "prompt_toolkit"],
    "bare": ["rich", "prompt_toolkit", "readline"],
}
NOT_INSTALLED = 'raise ImportError("not installed, for this test")\n'


class Model:
    """Answers by what the last line of the conversation asks for; `go` lets a held answer on."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.calls = 0

    def __call__(self, peer: Peer, request: Request) -> None:
        last = request.messages[-1]
        words = str(last["content"]).split("\n")[-1]
        order, _, rest = words.partition(" ")
        act: Callable[[Peer, Request, str], None] | None = getattr(self, f"_{order}", None)
        if last["role"] == "tool":
            reply("Told: ", words[:60])(peer, request)
        elif act is not None:
            act(peer, request, rest)
        else:
            reply("You said ", words[:60])(peer, request)

    def _hold(self, peer: Peer, request: Request, words: str) -> None:
        """The beginning of an answer; its end comes when the test says so."""
        peer.start_stream()
        peer.chunk(text("It begins"))
        while not self.go.wait(0.01):
            peer.hold(0.01)
        peer.chunk(text(" and ends."))
        for event in stream_end():
            peer.chunk(event)
        peer.end_stream()

    def _silent(self, peer: Peer, request: Request, words: str) -> None:
        peer.hold()

    def _bash(self, peer: Peer, request: Request, command: str) -> None:
        self._call(peer, request, "bash", command=command)

    def _later(self, peer: Peer, request: Request, command: str) -> None:
        """A call that comes when the test says so."""
        while not self.go.wait(0.01):
            peer.hold(0.01)
        self._call(peer, request, "bash", command=command)

    def _write(self, peer: Peer, request: Request, content: str) -> None:
        self._call(peer, request, "write_file", path="new.txt", content=content)

    def _ask(self, peer: Peer, request: Request, question: str) -> None:
        self._call(peer, request, "ask_user", question=question, options=["red", "blue"])

    def _evil(self, peer: Peer, request: Request, words: str) -> None:
        pieces = ("safe \x1b", "]52;c;cm0g", "LXJmIH4K\x07 words \x1b[2J\x9b6n\u202e!")
        reply(*pieces)(peer, request)

    def _tool(self, peer: Peer, request: Request, name: str) -> None:
        self._call(peer, request, name)

    def _refuse(self, peer: Peer, request: Request, words: str) -> None:
        peer.error(401, "wrong key")

    def _limit(self, peer: Peer, request: Request, words: str) -> None:
        peer.error(429, "slow down", Retry_After="60")

    def _call(self, peer: Peer, request: Request, name: str, **arguments: Any) -> None:
        self.calls += 1
        stream(*tool_reply((f"call{self.calls}", name, arguments)))(peer, request)


def stream_end() -> list[bytes]:
    """The events that end an answer in good order."""
    return text_reply("")[-2:]


Start = Callable[..., Any]
"""Starts claw in a terminal; see the fixture of that name."""


def enter(terminal: Terminal, line: str, told: str = "") -> None:
    """Enters a line at the prompt, on an empty screen; waits for what it tells, if anything."""
    terminal.wait_for(READY)
    terminal.wipe()
    terminal.type(f"{line}\r")
    if told:
        terminal.wait_for(told)
        terminal.wait_for(READY)


def ask(terminal: Terminal, prompt: str, answer: str = "") -> None:
    """One turn to its end, on an empty screen."""
    enter(terminal, prompt)
    terminal.wait_for(answer or f"^You said {prompt}$")
    terminal.wait_for(USAGE)
    terminal.wait_for(PROMPT)


def leave(terminal: Terminal) -> None:
    terminal.type("\x04")
    assert terminal.wait_exit() == 0
