"""One-key questions on a terminal: never answered by what was typed before they could be read.

The text is written first, then what waits in the terminal's queue is set aside for the next
prompt, then the cue is written: keys count from there. Who was typing doesn't notice at once: if
something waited, the cue comes only after a pause, and a key that others follow on the heels is
part of what was being typed, too. Reading is a `select` on the terminal and
on a pipe that the token's cancel writes, so that a Ctrl-C ends the question from outside; Python's
`input()` goes on reading after a handler that does nothing.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import closing, contextmanager

from claw.cancel import CancelToken
from claw.cli.interrupts import ended_by_signals
from claw.cli.terminal import Terminal
from claw.cli.visible import TerminalFilter, shown, visible
from claw.wake_pipe import WakePipe

PAUSE_S = 0.6  # without a key, until somebody who was typing has noticed the question
ALONE_S = 0.2  # without another key, until a key is an answer and not the beginning of a word
MEANS_NO = ("", "\n", "\r", "\x04")  # the end of input, Enter alone, Ctrl-D


def ask_key(terminal: Terminal, text: str, keys: str, cancel: CancelToken) -> str:
    """Shows `text`, then `[keys] `, and returns the key of `keys` that was pressed.

    Enter alone, Ctrl-D and the end of input are `n`; all other keys are ignored. Raises Cancelled
    once `cancel` fires. On the main thread, and only where `terminal.can_ask`.
    """
    with terminal.key_modes(), _woken_by(terminal, cancel) as wake:
        terminal.tell(text)
        while terminal.set_aside_typed_ahead():
            _comes(terminal, wake, cancel, PAUSE_S)
        terminal.tell(f"[{'/'.join(keys)}] ")
        arrows = TerminalFilter()  # the "A" of an arrow key's sequence is no answer
        while True:
            typed = _read(terminal, wake, cancel, 1)
            key = "n" if typed in MEANS_NO else arrows.feed(typed).lower()
            if not key or key not in keys:
                continue
            if typed and key != "w" and _comes(terminal, wake, cancel, ALONE_S):
                terminal.set_aside(typed)
                while terminal.set_aside_typed_ahead():
                    _comes(terminal, wake, cancel, PAUSE_S)
                continue
            terminal.tell(f"{key}\n")
            return key


def ask_words(terminal: Terminal, cue: str, cancel: CancelToken) -> str:
    """Shows `cue` and reads one line, edited and echoed by the terminal. Raises Cancelled."""
    with terminal.line_modes(), _woken_by(terminal, cancel) as wake:
        terminal.tell(cue)
        line = ""
        while not line.endswith("\n"):
            piece = _read(terminal, wake, cancel, 4096)
            if not piece:
                break
            line += piece
    return shown(line).strip()


def ask_yes_no(terminal: Terminal, question: str, cancel: CancelToken | None = None) -> bool:
    """A question of claw's own: one key, Enter alone means no.

    With a token, Cancelled is raised once it fires; else a Ctrl-C is a KeyboardInterrupt, and TERM
    and HUP leave with the terminal's modes as before.
    """
    text = f"{visible(question)} "
    if cancel is not None:
        return ask_key(terminal, text, "yn", cancel) == "y"
    with ended_by_signals():
        return ask_key(terminal, text, "yn", CancelToken()) == "y"


@contextmanager
def _woken_by(terminal: Terminal, cancel: CancelToken) -> Iterator[WakePipe]:
    """A question that is broken off leaves the cursor on a line of its own."""
    try:
        with closing(WakePipe(cancel)) as wake:
            yield wake
    except BaseException:
        terminal.tell("\n")
        raise


def _comes(terminal: Terminal, wake: WakePipe, cancel: CancelToken, seconds: float) -> bool:
    """Whether another key comes within `seconds`; it is left there."""
    ready, _, _ = select.select([terminal.fd, wake.fileno()], [], [], seconds)
    cancel.raise_if_cancelled()
    return bool(ready)


def _read(terminal: Terminal, wake: WakePipe, cancel: CancelToken, size: int) -> str:
    """What was typed, `size` bytes at most; "" at the end of input."""
    select.select([terminal.fd, wake.fileno()], [], [], cancel.remaining())
    cancel.raise_if_cancelled()
    return os.read(terminal.fd, size).decode("utf-8", "replace")
