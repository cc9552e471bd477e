"""Child processes that are followed without polling and ended for certain.

What fails, and why this doesn't:

- `communicate()` and reading to end-of-file wait for everybody who holds the pipe: five minutes
  with `sleep 300 & echo hi`. Here the exit of the child ends the call; its pipe gets 0.2 s more.
- A thread inside `read` isn't woken when another one closes the pipe, and would stay as long as
  that `sleep` does. So the reader polls two pipes: the output, and one that wakes it.
- `Popen.wait(timeout)` polls. A thread that blocks in `waitid` doesn't.
- A group has the number of its leader, and a reaped leader's number may go to somebody else. So
  the waiter looks with WNOWAIT, and the leader is reaped after the last signal to the group,
  under the lock that every signal is sent under.
- TERM may be ignored, and a child may leave its group. So KILL follows in any case, and whoever
  left is found by a variable in the environment (sweep.py), which has its own name for each
  call: a claw inside a command of claw doesn't overwrite it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TypeAlias

from claw.cancel import CancelToken
from claw.channel import Channel
from claw.tools import sweep
from claw.tools.child_threads import Happened, News, start_reader, start_waiter
from claw.tools.process_groups import LiveGroups
from claw.tools.sweep import Straggler
from claw.values import frozen
from claw.wake_pipe import WakePipe

GRACE_S = 0.5
DRAIN_S = 0.2
KILL_WAIT_S = 1.0

TakeOutput: TypeAlias = Callable[[bytes], None]


@frozen
class ProcessResult:
    """How a child ended.

    exit_code: as a shell says it, 128 + n after signal n; None if it could not even be killed.
    stopped: "timeout", the cancel token's reason, or None when it ended by itself.
    still_running: all that it left behind, a sandbox's own program too, whatever it calls itself.
    ended: what had to be found and ended one by one.
    """

    exit_code: int | None
    stopped: str | None
    duration_s: float
    still_running: tuple[Straggler, ...] = ()
    ended: tuple[Straggler, ...] = ()

    @property
    def left_running(self) -> bool:
        """Whether anything of it may still do something."""
        return bool(self.still_running) or self.exit_code is None


def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    cancel: CancelToken,
    on_output: TakeOutput,
    timeout: float | None = None,
    groups: LiveGroups | None = None,
) -> ProcessResult:
    """Runs `argv` to its end, or until `timeout` seconds have passed or `cancel` fires.

    Standard input is empty; standard output and error are one pipe, and `on_output` gets its
    bytes on the calling thread. Returns normally after a cancel too. OSError when it can't start.
    """
    child = Child(argv, cwd=cwd, env=env, groups=groups or LiveGroups())
    return child.follow(cancel, timeout, on_output)


class Child:
    """A child process that runs, and its two threads. `follow` it to its end, on any one thread.

    OSError when it can't be started, ValueError for a NUL in a word.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], groups: LiveGroups
    ) -> None:
        self._began = time.monotonic()
        self._groups = groups
        self._mark = groups.new_mark()
        # Not under the caller's token: a cancelled channel drops what lies in it, and the output
        # so far is wanted.
        self._channel: Channel[News] = Channel(16, CancelToken())
        self._seen: set[Happened] = set()
        self._on_output: TakeOutput = _ignore
        self._threads: list[Thread] = []
        self._wake = WakePipe()
        try:
            self._popen = subprocess.Popen(
                argv,
                bufsize=0,
                cwd=cwd,
                env={**env, self._mark: "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except BaseException:
            self._wake.close()
            raise
        groups.add(self._popen.pid)
        try:
            self._threads.append(start_reader(self._popen, self._wake, self._channel))
            self._threads.append(start_waiter(self._popen, self._channel))
        except BaseException:  # the system has no thread left to give
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def age_s(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._began

    def follow(
        self, cancel: CancelToken, timeout: float | None, on_output: TakeOutput
    ) -> ProcessResult:
        """As `run_process` does, from here on; closes the child in any case."""
        self._on_output = on_output
        detach = cancel.on_cancel(self._wake.wake)
        try:
            ends = [cancel.deadline, None if timeout is None else self._began + timeout]
            end = min((each for each in ends if each is not None), default=None)
            self._take_until(lambda: self._seen & {Happened.EXITED, Happened.WOKEN}, end)
            if Happened.EXITED in self._seen:
                return self._leave()
            return self._end(stopped=(cancel.cancelled and cancel.reason) or "timeout")
        finally:
            detach()
            self.close()

    def close(self) -> None:
        """Lets go of threads and pipes; ends the child where an exception left it running."""
        if self._popen.returncode is None:
            self._groups.signal(self._popen.pid, signal.SIGKILL)
            sweep.end(self._mark)
        self._channel.close()
        self._wake.hang_up()
        for thread in self._threads:
            thread.join(KILL_WAIT_S)  # at once, unless the kernel can't kill the child
        self._groups.reap(self._popen)
        if not self._threads:  # no reader, so nobody else closes these
            self._wake.close()
            assert self._popen.stdout is not None
            self._popen.stdout.close()

    def _leave(self) -> ProcessResult:
        """It ended by itself: what it left running is named and left alone."""
        duration = time.monotonic() - self._began
        self._drain()
        code = _shell_code(self._groups.reap(self._popen))
        return ProcessResult(code, None, duration, still_running=self._left_behind())

    def _left_behind(self) -> tuple[Straggler, ...]:
        if sweep.can_sweep():
            return tuple(sweep.find(self._mark))
        with suppress(OSError):  # only the group can be asked whether anybody is left in it
            os.killpg(self._popen.pid, 0)
            return (Straggler(self._popen.pid, "its process group"),)
        return ()

    def _end(self, stopped: str) -> ProcessResult:
        """TERM, a grace that ends as soon as nobody is left to have it, KILL, the sweep."""
        self._groups.signal(self._popen.pid, signal.SIGTERM)
        self._take_until(
            lambda: {Happened.EXITED, Happened.EOF} <= self._seen, time.monotonic() + GRACE_S
        )
        self._groups.signal(self._popen.pid, signal.SIGKILL)
        self._take_until(lambda: Happened.EXITED in self._seen, time.monotonic() + KILL_WAIT_S)
        code = _shell_code(self._groups.reap(self._popen))
        ended = tuple(sweep.end(self._mark))
        left = tuple(sweep.find(self._mark)) if ended else ()  # those that were quicker than we
        self._drain()
        return ProcessResult(code, stopped, time.monotonic() - self._began, left, ended)

    def _drain(self) -> None:
        """Takes what comes in the next 0.2 s, then what lies in the pipe, whoever holds it."""
        self._take_until(
            lambda: self._seen & {Happened.EOF, Happened.WOKEN}, time.monotonic() + DRAIN_S
        )
        self._wake.hang_up()
        self._take_until(lambda: Happened.EOF in self._seen, time.monotonic() + KILL_WAIT_S)

    def _take_until(self, done: Callable[[], object], end: float | None) -> None:
        """Passes on what comes until `done()` or the monotonic instant `end`."""
        while not done():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            for event in self._channel.recv_many(left) or ():
                if isinstance(event, bytes):
                    self._on_output(event)
                else:
                    self._seen.add(event)


def _shell_code(status: int | None) -> int | None:
    return status if status is None or status >= 0 else 128 - status


def _ignore(_: bytes) -> None:
    pass
