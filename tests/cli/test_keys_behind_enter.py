"""Keys typed right behind an Enter, while the terminal passes from the prompt to the turn.

prompt_toolkit has the terminal raw, where a Ctrl-C is a byte among others; in the turn it is a
signal. Wherever it falls, it ends that turn or the line isn't sent, and it hits nothing else.
"""

from __future__ import annotations

import time

import pytest

from tests.support.pty import Terminal
from tests.support.repl import PROMPT, USAGE, Start, leave
from tests.support.server import Server

FLAVOURS = ["extra", "plain", "dumb", "bare"]
QUICKLY_S = 2.0  # from the Ctrl-C to the next answer; measured: 0.05-0.2 s


def interrupt_behind_enter(terminal: Terminal, gap_ms: float) -> None:
    """Cancels a turn that would last for ever, and sees that the next one is whole."""
    ready_for_the_next(terminal)
    terminal.type_apart("hold on\r", gap_ms / 1000, "\x03")
    start = time.monotonic()
    terminal.wait_for(r"^(\^C)?(\[interrupted.*|\(Ctrl-C again leaves\))$")
    terminal.wait_for(PROMPT)
    terminal.type("go on\r")
    terminal.wait_for("^You said go on$")
    assert time.monotonic() - start < QUICKLY_S
    terminal.wait_for(USAGE)


def ready_for_the_next(terminal: Terminal) -> None:
    """An empty screen, and a prompt that waits for keys."""
    terminal.wait_for(PROMPT)
    terminal.wait_asleep()
    terminal.wipe()


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_ctrl_c_behind_an_enter_ends_that_turn(flavour: str, start: Start) -> None:
    with start(flavour) as terminal:
        for gap_ms in range(0, 21, 4):
            interrupt_behind_enter(terminal, gap_ms)
        ready_for_the_next(terminal)
        leave(terminal)


@pytest.mark.stress
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_ctrl_c_behind_an_enter_at_every_millisecond(flavour: str, start: Start) -> None:
    for _ in range(5):
        with start(flavour) as terminal:
            for gap_ms in [0.1, 0.2, 0.5, *range(21)]:
                interrupt_behind_enter(terminal, gap_ms)
            ready_for_the_next(terminal)
            leave(terminal)


@pytest.mark.parametrize("gap_ms", [0, 2, 5, 10, 20])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_keys_behind_an_enter_keep_their_order(
    flavour: str, gap_ms: int, start: Start, server: Server
) -> None:
    with start(flavour) as terminal:
        terminal.wait_asleep()
        terminal.type_apart("first\r", gap_ms / 1000, "y\rnext question y")
        terminal.wait_for("You said first$")  # the terminal may have echoed keys before it
        terminal.wait_for("^You said y$")
        terminal.wait_for("^claw> next question y$")
        terminal.wait_asleep()
        terminal.type("es\r")
        terminal.wait_for("^You said next question yes$")
        assert len(server.requests) == 3
        terminal.wait_for(PROMPT)
        leave(terminal)


def test_lines_between_the_enter_and_the_ctrl_c_are_kept(start: Start) -> None:
    """As in a turn that has begun: only what goes on is cancelled; they are back in the prompt."""
    with start("extra") as terminal:
        terminal.wait_asleep()
        terminal.type("hold on\rtwo\r\x03thr")
        terminal.wait_for("^.interrupted")
        terminal.wait_for(r"^claw> two\n\.\.\.   thr$")
        terminal.type("ee\r")
        terminal.wait_for("^You said three$")
        terminal.wait_for(PROMPT)
        leave(terminal)


def test_a_ctrl_c_behind_a_command_clears_what_came_between(start: Start, server: Server) -> None:
    with start("extra") as terminal:
        terminal.wait_asleep()
        terminal.type("/usage\rnever sent\x03sent\r")
        terminal.wait_for(r"^claw> never sent\n\(Ctrl-C again leaves\)$")
        terminal.wait_for("^You said sent$")
        assert len(server.requests) == 1
        terminal.wait_for(PROMPT)
        leave(terminal)
