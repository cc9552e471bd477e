"""A program in a pseudo-terminal of its own, seen as a person sees it: as a screen of text.

    with Terminal.running([sys.executable, "-m", "claw"], cwd=tmp_path, env=env) as terminal:
        terminal.wait_for("claw> ")
        terminal.type("hello\\r")

A shell holds the terminal before, while and after the program has it. Without that the kernel
would put a terminal's modes in order as soon as its only program ends, and no test could see
what the program left behind.
"""

from __future__ import annotations

import os
import re
import select
import signal
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pexpect
import pyte

# The inner shell becomes the program, so that its number is known.
HOLDER = (
    'trap : INT TERM HUP; sh -c \'echo "[pid $$]"; exec "$@"\' sh "$@"; echo "[exit $?]"; read _'
)
PATIENCE_S = 10.0


class Terminal:
    """Made by `Terminal.running`. `raw` is everything that was written to the terminal."""

    def __init__(
        self, spawned: pexpect.spawn[bytes], lines: int, columns: int, *, holder: bool
    ) -> None:
        self.raw = b""
        self._spawned = spawned
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.modes_before = self.modes()
        self.pid = int(self.wait_for(r"\[pid (\d+)\]")[1]) if holder else spawned.pid

    @classmethod
    @contextmanager
    def running(
        cls,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        lines: int = 24,
        columns: int = 80,
        holder: bool = True,
    ) -> Iterator[Terminal]:
        """holder: with the shell around it; without, closing the window reaches the program."""
        command = ["sh", "-c", HOLDER, "sh", *argv] if holder else [*argv]
        spawned = pexpect.spawn(
            command[0],
            command[1:],
            cwd=str(cwd),
            env=dict(env),
            dimensions=(lines, columns),
        )
        spawned.delaybeforesend = None
        terminal = cls(spawned, lines, columns, holder=holder)
        try:
            yield terminal
        finally:
            terminal._end()

    @property
    def text(self) -> str:
        """The screen, without blanks at the ends of lines and empty lines at its end."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip("\n")

    @property
    def transcript(self) -> str:
        """Everything written so far, escape sequences and all."""
        return self.raw.decode("utf-8", "replace")

    @property
    def bracketed_paste(self) -> bool:
        return 2004 << 5 in self._screen.mode

    def type(self, text: str) -> None:
        """Keys; "\\r" is Enter, "\\x03" Ctrl-C. Reads meanwhile, as a terminal does."""
        data, descriptor = text.encode(), self._spawned.child_fd
        while data:
            readable, writable, _ = select.select([descriptor], [descriptor], [], PATIENCE_S)
            assert readable or writable, f"the program reads no more:\n{self.text}"
            if readable:
                self._read(0)
            if writable:
                data = data[os.write(descriptor, data[:512]) :]

    def type_apart(self, first: str, gap_s: float, second: str) -> None:
        """Two short pieces, the second written `gap_s` after the first, as exactly as can be."""
        descriptor = self._spawned.child_fd
        os.write(descriptor, first.encode())
        end = time.monotonic() + gap_s
        while time.monotonic() < end:
            pass  # a sleep would come back up to a millisecond late
        os.write(descriptor, second.encode())

    def paste(self, text: str) -> None:
        """As a terminal pastes: in brackets where the program asked for them."""
        text = text.replace("\n", "\r")
        self.type(f"\x1b[200~{text}\x1b[201~" if self.bracketed_paste else text)

    def wipe(self) -> None:
        """Forgets what is on the screen up to the cursor, so that it isn't found again."""
        self._stream.feed(b"\x1b[1J")

    def wait_for(self, pattern: str, *, count: int = 1) -> re.Match[str]:
        """Until the regular expression matches the screen `count` times; the last match."""

        def found() -> re.Match[str] | None:
            matches = list(re.finditer(pattern, self.text, re.MULTILINE))
            return matches[-1] if len(matches) >= count else None

        return self._until(found, f"{pattern!r} isn't on the screen")

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Until the condition holds; what the program writes is read meanwhile."""
        self._until(condition, "what was waited for didn't happen")

    def wait_asleep(self) -> None:
        """Until the program waits for a key. Before that, C code may not heed a Ctrl-C."""
        self.wait_state("S")

    def wait_state(self, letter: str) -> None:
        """Until the program sleeps (S) or is stopped (T)."""
        state = Path(f"/proc/{self.pid}/stat")
        self._until(
            lambda: state.read_text().rpartition(")")[2].split()[0] == letter, f"isn't {letter}"
        )

    def modes(self) -> list[Any]:
        """The terminal's modes, as termios gives them."""
        return termios.tcgetattr(self._spawned.child_fd)

    def set_modes(self, modes: list[Any]) -> None:
        """As another program on the terminal may do."""
        termios.tcsetattr(self._spawned.child_fd, termios.TCSANOW, modes)

    def wait_modes(self, flag: int, on: bool) -> None:
        """Until a local flag (ECHO, ICANON, NOFLSH) is on or off."""
        self._until(lambda: bool(self.modes()[3] & flag) is on, f"local flag {flag} isn't {on}")

    def resize(self, lines: int, columns: int) -> None:
        self._screen.resize(lines, columns)
        self._spawned.setwinsize(lines, columns)

    def kill(self, number: signal.Signals) -> None:
        """Sends a signal to the program itself."""
        os.kill(self.pid, number)

    def wait_exit(self) -> int:
        """The program's exit code."""
        return int(self.wait_for(r"\[exit (\d+)\]")[1])

    def close_window(self) -> int:
        """The window is closed; how the program ended, as a shell gives it. Without a holder."""
        self._spawned.ptyproc.fileobj.close()
        self._spawned.wait()
        return self._spawned.exitstatus or 128 + (self._spawned.signalstatus or 0)

    def _until(self, condition: Any, complaint: str) -> Any:
        end = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            over = re.search(r"\[exit \d+\]", self.text)
            if over or time.monotonic() > end:
                raise AssertionError(f"{complaint}; the screen is:\n{self.text}")
            self._read(0.05)
        return value

    def _read(self, timeout: float) -> None:
        try:
            data = self._spawned.read_nonblocking(65536, timeout)
        except pexpect.TIMEOUT:
            return
        except pexpect.EOF:
            raise AssertionError(f"the terminal is closed; the screen was:\n{self.text}") from None
        self.raw += data
        self._stream.feed(data)

    def _end(self) -> None:
        """Ends the shell, and the program if it still runs: they are one process group."""
        with suppress(ProcessLookupError):
            os.killpg(self._spawned.pid, signal.SIGKILL)
        self._spawned.close(force=True)
