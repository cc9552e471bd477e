"""Finds processes by a mark in their environment, and ends them.

A child that calls setsid leaves its process group and can't be signalled with it, but it keeps
the environment it was started with. A process number may go to somebody else between the look and
the signal; so a pidfd is opened first, then the mark is looked at again, and the signal goes to
the pidfd, which can only ever mean that one process.
"""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from claw.values import frozen

PROC = Path("/proc")
KILL_WAIT_S = 1.0
ROUNDS = 5
LOOKS = 50
COMMAND_CHARS = 80


@frozen
class Straggler:
    """A process that carries the mark. command: its command line, shortened."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"{self.command} (pid {self.pid})"


def can_sweep() -> bool:
    """Whether this system lets us find processes by their environment (Linux >= 5.3 with /proc)."""
    if not (PROC / "self" / "environ").exists() or not hasattr(os, "pidfd_open"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def find(mark: str) -> list[Straggler]:
    """The processes with a variable in their environment whose name begins with `mark`."""
    with suppress(OSError):
        pids = [int(name) for name in os.listdir(PROC) if name.isdecimal()]
        return [Straggler(pid, _command_of(pid)) for pid in pids if _carries(pid, mark)]
    return []


def end(mark: str, *, grace_s: float = 0.0) -> list[Straggler]:
    """Ends all that `find(mark)` finds, and what they start meanwhile; returns who was ended.

    TERM and `grace_s` seconds come first where there is a grace; then KILL, and the wait for it.
    """
    ended: dict[int, Straggler] = {}
    for _ in range(ROUNDS if can_sweep() else 0):
        found = find(mark)
        if not found:
            break
        ended.update((straggler.pid, straggler) for straggler in found)
        _end_these([straggler.pid for straggler in found], mark, grace_s)
    return list(ended.values())


def _end_these(pids: list[int], mark: str, grace_s: float) -> None:
    with ExitStack() as stack:
        handles = []
        for pid in pids:
            with suppress(OSError):
                handle = os.pidfd_open(pid)
                stack.callback(os.close, handle)
                if _carries(pid, mark):
                    handles.append(handle)
        if grace_s:
            handles = _signal(handles, signal.SIGTERM, grace_s)
        _signal(handles, signal.SIGKILL, KILL_WAIT_S)


def _signal(handles: list[int], number: signal.Signals, wait_s: float) -> list[int]:
    """Sends a signal, waits for the ends, and returns those that still live after `wait_s`."""
    poller, alive, until = select.poll(), set(handles), time.monotonic() + wait_s
    for handle in handles:
        with suppress(OSError):
            signal.pidfd_send_signal(handle, number)
        poller.register(handle, select.POLLIN)  # readable once the process has ended
    while alive and (left := until - time.monotonic()) > 0:
        for handle, _ in poller.poll(left * 1000):
            poller.unregister(handle)
            alive.discard(handle)
    return sorted(alive)


def _carries(pid: int, mark: str) -> bool:
    try:
        environ = _environ_of(PROC / str(pid))
    except OSError:
        return False  # gone, or not ours to look at
    return f"\0{mark}".encode() in b"\0" + environ


def _environ_of(process: Path) -> bytes:
    """For an instant of its exec a process seems to have none, though it is marked: looked at
    again, a few times. A zombie and a thread of the kernel have none and no program either."""
    for _ in range(LOOKS):
        environ = (process / "environ").read_bytes()
        if environ:
            return environ
        os.readlink(process / "exe")
        os.sched_yield()
    return b""


def _command_of(pid: int) -> str:
    words = b""
    with suppress(OSError):
        words = (PROC / str(pid) / "cmdline").read_bytes()
    command = words.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    return command if len(command) <= COMMAND_CHARS else command[: COMMAND_CHARS - 1] + "…"
