"""Terminal: the user's terminal on standard input, its modes, and what was typed ahead.

Each change of modes is a context manager that takes back exactly what it changed, so the modes
are as before on every way out that Python sees; `restore` is for the one it doesn't see.

A conversation goes back and forth between a prompt and a turn, and a Ctrl-C may be typed at any
instant of it. As a signal it can only be heeded by who is ready for it: between the two it would
be lost, or hit what comes next. So between the two the terminal makes no signals (`hold`): a
Ctrl-C is a byte, in its place among the keys. Whoever switches the signals on is ready for them,
and then looks at what was typed before: a Ctrl-C in there was meant for them, too.
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from claw.cli.visible import shown

LOCAL_FLAGS = 3  # index in what tcgetattr gives
CTRL_C = "\x03"
ENTER = "\n"


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
        self._typed_ahead = b""
        self._at_start = termios.tcgetattr(fd) if can_ask else None
        self._in_force: list[Any] | None = None

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

        With NOFLSH a Ctrl-C leaves the typed-ahead text in the terminal's queue. Lines and signals
        are the terminal's, as at the start: this is no raw mode.
        """
        if not (self._at_start and self.shows and self._in_foreground()):
            yield
            return
        signals_and_lines = self._at_start[LOCAL_FLAGS] & (termios.ISIG | termios.ICANON)
        with self._flags(on=termios.NOFLSH | signals_and_lines, off=termios.ECHO):
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

    @contextmanager
    def prompt_modes(self) -> Iterator[None]:
        """For a prompt that leaves Ctrl-C to the terminal, where it is a KeyboardInterrupt.

        It drops what was typed, as the terminal would do itself without NOFLSH, but not between
        the moment when readline sees that there is a key and the one when it reads: it would wait
        there for the next one, and heed no signal.
        """
        on = termios.ISIG | termios.ICANON | termios.ECHO | termios.NOFLSH
        with self._flags(on=on):
            self.set_aside_typed_ahead()
            try:
                yield
            except KeyboardInterrupt:
                termios.tcflush(self.fd, termios.TCIFLUSH)
                raise

    def hold(self) -> None:
        """Between a prompt and a turn, until the next change: nothing is echoed, and every key
        is kept, the ones that would be signals as well. `restore` ends it."""
        if self._at_start is None:
            return
        modes = list(self._at_start)
        modes[LOCAL_FLAGS] |= termios.NOFLSH
        modes[LOCAL_FLAGS] &= ~(termios.ISIG | termios.ICANON | termios.ECHO)
        self._set(termios.TCSANOW, modes)

    def renew_modes(self) -> None:
        """After the process was stopped: a shell had the terminal, and may have left it with
        other modes than those in force. From any thread."""
        if self._in_force is not None and self._in_foreground():
            with suppress(termios.error):
                self._set(termios.TCSANOW, self._in_force)

    def restore(self) -> None:
        """The modes of the start, at once. From any thread; nothing if the window is closed."""
        if self._at_start is None:
            return
        with suppress(termios.error):
            self._set(termios.TCSANOW, self._at_start)

    def set_aside_typed_ahead(self) -> bool:
        """What waits in the terminal's queue belongs to the next prompt, not to a question.
        Returns whether there was something."""
        data = b""
        while select.select([self.fd], [], [], 0)[0]:
            piece = os.read(self.fd, 65536)
            if not piece:
                break
            data += piece
        self._typed_ahead += data
        return bool(data)

    def set_aside(self, text: str) -> None:
        """Keys that were read and belong to the next prompt."""
        self._typed_ahead += text.encode("utf-8", "surrogateescape")

    def take_keys(self) -> str:
        """All keys typed until now and not used yet, an Enter as ENTER. What isn't wanted goes
        back by `set_aside`. In the background only those that were set aside."""
        if self._in_foreground():
            self.set_aside_typed_ahead()
        keys, self._typed_ahead = self._typed_ahead.decode("utf-8", "surrogateescape"), b""
        return keys.replace("\r", ENTER)

    def take_ctrl_c(self) -> bool:
        """Whether there is a Ctrl-C among all the keys typed until now; it is taken from them."""
        self.set_aside_typed_ahead()
        ctrl_c = CTRL_C.encode()
        found = ctrl_c in self._typed_ahead
        self._typed_ahead = self._typed_ahead.replace(ctrl_c, b"")
        return found

    def take_typed_ahead(self) -> tuple[str, str]:
        """What was set aside up to the first ENTER or CTRL_C, as a prompt may show it, and which
        of the two came then, or "" if neither did. What stands behind it is still set aside."""
        typed = self._typed_ahead.replace(b"\r", ENTER.encode())
        text, key, self._typed_ahead = re.split(rb"([\n\x03])|\Z", typed, maxsplit=1)
        return shown(text.decode("utf-8", "ignore")), (key or b"").decode()

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
        before = termios.tcgetattr(self.fd)
        modes = list(before)
        modes[LOCAL_FLAGS] = (before[LOCAL_FLAGS] | on) & ~off
        self._set(termios.TCSADRAIN, modes)
        try:
            yield
        finally:
            with suppress(termios.error):  # the window may be closed by now
                self._set(termios.TCSADRAIN, before)

    def _set(self, when: int, modes: list[Any]) -> None:
        self._in_force = modes
        termios.tcsetattr(self.fd, when, modes)
