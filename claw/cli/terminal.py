"""Terminal: the user's terminal on standard input, its modes, and what was typed ahead.

Each change of modes is a context manager that takes back exactly what it changed, so the modes
are as before on every way out that Python sees; `restore` is for the one it doesn't see.
"""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from claw.cli.visible import shown

LOCAL_FLAGS = 3  # index in what tcgetattr gives


class Terminal:
    """The terminal on descriptor `fd`; questions are written to `stream`.

    can_ask: there is somebody to ask: standard input and standard error are both terminals.
    shows: standard output is a terminal too, so nobody else (a pager) handles this one's modes.
    """

    def __init__(self, fd: int, stream: TextIO, *, can_ask: bool, shows: bool) -> None:
        self.fd = fd
        self._stream = stream
        self.can_ask = can_ask
        self.shows = shows
        self._typed_ahead = ""
        self._at_start = termios.tcgetattr(fd) if can_ask else None

    @classmethod
    def of_process(cls) -> Terminal:
        """The one that this process was started in."""
        asks, shows = os.isatty(0) and os.isatty(2), os.isatty(1)
        return cls(0, sys.stderr, can_ask=asks, shows=shows)

    @property
    def gone(self) -> bool:
        """Whether the window is closed: nothing can be read or written there any more."""
        try:
            termios.tcgetattr(self.fd)
        except termios.error:
            return True
        return False

    def tell(self, text: str) -> None:
        """Writes a part of a question, at once."""
        self._stream.write(text)
        self._stream.flush()

    @contextmanager
    def turn_modes(self) -> Iterator[None]:
        """For a turn: what is typed is kept for later, and isn't echoed into the output.

        With NOFLSH a Ctrl-C leaves the typed-ahead text in the terminal's queue. Lines are still
        the terminal's: this is no raw mode.
        """
        if not (self.can_ask and self.shows and self._in_foreground()):
            yield
            return
        with self._flags(on=termios.NOFLSH, off=termios.ECHO):
            yield

    @contextmanager
    def key_modes(self) -> Iterator[None]:
        """For a question: single keys, no echo; Ctrl-C is still a signal."""
        with self._flags(off=termios.ICANON | termios.ECHO):
            yield

    @contextmanager
    def line_modes(self) -> Iterator[None]:
        """For a line of words within a question: the terminal edits and echoes it."""
        with self._flags(on=termios.ICANON | termios.ECHO):
            yield

    def restore(self) -> None:
        """The modes of the start, at once. From any thread; nothing if the window is closed."""
        if self._at_start is None:
            return
        with suppress(termios.error):
            termios.tcsetattr(self.fd, termios.TCSANOW, self._at_start)

    def set_aside_typed_ahead(self) -> bool:
        """What waits in the terminal's queue belongs to the next prompt, not to a question.
        Returns whether there was something."""
        data = b""
        while select.select([self.fd], [], [], 0)[0]:
            piece = os.read(self.fd, 65536)
            if not piece:
                break
            data += piece
        self.set_aside(data.decode("utf-8", "ignore"))
        return bool(data)

    def set_aside(self, text: str) -> None:
        """Keys that were read and belong to the next prompt."""
        self._typed_ahead += text

    def take_typed_ahead(self) -> str:
        """What was set aside, as a prompt may show it; each line end is an Enter."""
        text, self._typed_ahead = self._typed_ahead, ""
        return shown(text.replace("\r", "\n"))

    def give_back(self, text: str) -> None:
        """Puts text that a prompt could not use yet in front of what was set aside."""
        self._typed_ahead = text + self._typed_ahead

    def abandon(self) -> None:
        """After the window was closed: what is still buffered goes nowhere, so that exiting
        doesn't fail on it, which would change the exit code."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)
        os.close(nowhere)

    def _in_foreground(self) -> bool:
        """A background job that changes the modes is stopped by the terminal."""
        with suppress(OSError):
            return os.tcgetpgrp(self.fd) == os.getpgrp()
        return False

    @contextmanager
    def _flags(self, *, on: int = 0, off: int = 0) -> Iterator[None]:
        """Local flags switched for a while. TCSADRAIN: never flushes what was typed."""
        modes = termios.tcgetattr(self.fd)
        before = modes[LOCAL_FLAGS]
        modes[LOCAL_FLAGS] = (before | on) & ~off
        termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
        try:
            yield
        finally:
            with suppress(termios.error):  # the window may be closed by now
                modes[LOCAL_FLAGS] = before
                termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
