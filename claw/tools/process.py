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
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from threading import RLock, Thread

from claw.cancel import CancelToken
from claw.channel import Channel
from claw.tools import sweep
from claw.tools.groups import LiveGroups
from claw.values import frozen

GRACE_S = 0.5
DRAIN_S = 0.2
KILL_WAIT_S = 1.0
CHUNK_BYTES = 65_536
REST_CHUNKS = 16  # as much as a pipe can hold


class Happened(Enum):
    """What the two threads tell besides output."""

    EOF = "eof"
    EXITED = "exited"
    WOKEN = "woken"


@frozen
class ProcessResult:
    """How a child ended.

    exit_code: as a shell says it, 128 + n after signal n; None if it could not even be killed.
    stopped: "timeout", the cancel token's reason, or None when it ended by itself.
    still_running: what it left behind, by name. ended: what had to be found and ended one by one.
    """

    exit_code: int | None
    stopped: str | None
    duration_s: float
    still_running: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    cancel: CancelToken,
    on_output: Callable[[bytes], None],
    timeout: float | None = None,
    groups: LiveGroups | None = None,
) -> ProcessResult:
    """Runs `argv` to its end, or until `timeout` seconds have passed or `cancel` fires.

    Standard input is empty; standard output and error are one pipe, and `on_output` gets its
    bytes on the calling thread. Returns normally after a cancel too. OSError when it can't start.
    """
    child = _Child(argv, cwd, env, groups or LiveGroups())
    detach = cancel.on_cancel(child.wake)
    try:
        return child.follow(cancel, timeout, on_output)
    finally:
        detach()
        child.close()


class _Child:
    """One child and its two threads. All but `wake` is for the thread that made it."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], groups: LiveGroups
    ) -> None:
        self._began = time.monotonic()
        self._groups = groups
        self._mark = groups.new_mark()
        # Not under the caller's token: a cancelled channel drops what lies in it, and the output
        # so far is wanted.
        self._channel: Channel[bytes | Happened] = Channel(16, CancelToken())
        self._seen: set[Happened] = set()
        self._on_output: Callable[[bytes], None] = _ignore
        self._threads: list[Thread] = []
        self._wakeup = _Wakeup()
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
            self._wakeup.close()
            os.close(self._wakeup.read_end)
            raise
        groups.add(self._popen.pid)

    def wake(self) -> None:
        """For any thread: `follow` looks at its token."""
        self._wakeup.wake()

    def follow(
        self, cancel: CancelToken, timeout: float | None, on_output: Callable[[bytes], None]
    ) -> ProcessResult:
        self._on_output = on_output
        self._threads = [_start_reader(self._popen, self._wakeup, self._channel)]
        self._threads.append(_start_waiter(self._popen, self._channel))
        ends = [cancel.deadline, None if timeout is None else self._began + timeout]
        end = min((each for each in ends if each is not None), default=None)
        self._take_until(lambda: self._seen & {Happened.EXITED, Happened.WOKEN}, end)
        if Happened.EXITED in self._seen:
            return self._leave()
        return self._end(stopped=(cancel.cancelled and cancel.reason) or "timeout")

    def close(self) -> None:
        """Lets go of threads and pipes; ends the child where an exception left it running."""
        if self._popen.returncode is None:
            self._groups.signal(self._popen.pid, signal.SIGKILL)
            sweep.end(self._mark)
        self._channel.close()
        self._wakeup.close()
        for thread in self._threads:
            thread.join(KILL_WAIT_S)  # at once, unless the kernel can't kill the child
        self._groups.reap(self._popen)
        if not self._threads:  # the system has no thread left to give, so nobody else closes these
            os.close(self._wakeup.read_end)
            assert self._popen.stdout is not None
            self._popen.stdout.close()

    def _leave(self) -> ProcessResult:
        """It ended by itself: what it left running is named and left alone."""
        duration = time.monotonic() - self._began
        self._drain()
        code = _shell_code(self._groups.reap(self._popen))
        return ProcessResult(code, None, duration, still_running=self._left_behind())

    def _left_behind(self) -> tuple[str, ...]:
        if sweep.can_sweep():
            return tuple(str(each) for each in sweep.find(self._mark))
        with suppress(OSError):  # only the group can be asked whether anybody is left in it
            os.killpg(self._popen.pid, 0)
            return (f"process group {self._popen.pid}",)
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
        ended = tuple(str(each) for each in sweep.end(self._mark))
        self._drain()
        return ProcessResult(code, stopped, time.monotonic() - self._began, ended=ended)

    def _drain(self) -> None:
        """Takes what comes in the next 0.2 s, then what lies in the pipe, whoever holds it."""
        self._take_until(
            lambda: self._seen & {Happened.EOF, Happened.WOKEN}, time.monotonic() + DRAIN_S
        )
        self._wakeup.close()
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


class _Wakeup:
    """A pipe that wakes a thread out of `poll`. `wake` is harmless after `close`."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()
        self._open = True
        self._lock = RLock()  # without it a late wake could write into somebody else's file

    def wake(self) -> None:
        with self._lock:
            if self._open:
                os.write(self._write_end, b"!")

    def close(self) -> None:
        """The thread sees the end of the pipe; it closes the other end."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._write_end)


def _start_reader(
    child: subprocess.Popen[bytes], wakeup: _Wakeup, channel: Channel[bytes | Happened]
) -> Thread:
    thread = Thread(
        target=_read, args=(child, wakeup.read_end, channel), name="claw-reader", daemon=True
    )
    thread.start()
    return thread


def _read(
    child: subprocess.Popen[bytes], wake_end: int, channel: Channel[bytes | Happened]
) -> None:
    assert child.stdout is not None
    output = child.stdout.fileno()
    os.set_blocking(output, False)
    poller = select.poll()
    poller.register(wake_end, select.POLLIN)
    poller.register(output, select.POLLIN)
    going_on = True
    while going_on:
        ready = [descriptor for descriptor, _ in poller.poll()]
        if wake_end in ready:
            going_on = bool(os.read(wake_end, 1)) and channel.send(Happened.WOKEN)
        if output in ready and not _pass_on(output, channel):
            poller.unregister(output)
    with suppress(BlockingIOError):  # the pipe is empty, somebody still holds it
        for _ in range(REST_CHUNKS):
            if not _pass_on(output, channel):
                break
    channel.send(Happened.EOF)
    child.stdout.close()
    os.close(wake_end)


def _pass_on(output: int, channel: Channel[bytes | Happened]) -> bool:
    """Sends what lies in the pipe, or that it has ended; False when there is no use in more."""
    data = os.read(output, CHUNK_BYTES)
    return channel.send(data or Happened.EOF) and bool(data)


def _start_waiter(child: subprocess.Popen[bytes], channel: Channel[bytes | Happened]) -> Thread:
    thread = Thread(target=_wait, args=(child, channel), name="claw-waiter", daemon=True)
    thread.start()
    return thread


def _wait(child: subprocess.Popen[bytes], channel: Channel[bytes | Happened]) -> None:
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):  # a host that ignores SIGCHLD: ended, and gone
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    else:
        child.wait()  # macOS before Python 3.13: the leader is reaped a little early
    channel.send(Happened.EXITED)


def _shell_code(status: int | None) -> int | None:
    return status if status is None or status >= 0 else 128 - status


def _ignore(_: bytes) -> None:
    pass
