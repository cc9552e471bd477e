"""The two threads that a child process has: one reads its pipe, one waits for its exit."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from threading import Thread
from typing import TypeAlias

from claw.channel import Channel
from claw.wake_pipe import WakePipe

CHUNK_BYTES = 65_536
REST_CHUNKS = 16  # as much as a pipe can hold


class Happened(Enum):
    """What the two threads tell besides output."""

    EOF = "eof"
    EXITED = "exited"
    WOKEN = "woken"


News: TypeAlias = bytes | Happened


def start_reader(child: subprocess.Popen[bytes], wake: WakePipe, channel: Channel[News]) -> Thread:
    """`claw-reader` sends output as it comes, WOKEN for each wake, and EOF at the pipe's end.

    It ends when `wake` is hung up, after what lies in the pipe by then and one more EOF; it closes
    the pipe and `wake`.
    """
    return _started("claw-reader", lambda: _read(child, wake, channel))


def start_waiter(child: subprocess.Popen[bytes], channel: Channel[News]) -> Thread:
    """`claw-waiter` sends EXITED once the child has ended, and leaves it to be reaped."""
    return _started("claw-waiter", lambda: _wait(child, channel))


def _started(name: str, work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def _read(child: subprocess.Popen[bytes], wake: WakePipe, channel: Channel[News]) -> None:
    assert child.stdout is not None
    with wake, child.stdout as stdout:
        output, woken = stdout.fileno(), wake.fileno()
        os.set_blocking(output, False)
        poller = select.poll()
        poller.register(woken, select.POLLIN)
        poller.register(output, select.POLLIN)
        going_on = True
        while going_on:
            ready = [descriptor for descriptor, _ in poller.poll()]
            if woken in ready:
                going_on = bool(os.read(woken, 1)) and channel.send(Happened.WOKEN)
            if output in ready and not _pass_on(output, channel):
                poller.unregister(output)
        with suppress(BlockingIOError):  # the pipe is empty, somebody still holds it
            for _ in range(REST_CHUNKS):
                if not _pass_on(output, channel):
                    break
        channel.send(Happened.EOF)


def _pass_on(output: int, channel: Channel[News]) -> bool:
    """Sends what lies in the pipe, or that it has ended; False when there is no use in more."""
    data = os.read(output, CHUNK_BYTES)
    return channel.send(data or Happened.EOF) and bool(data)


def _wait(child: subprocess.Popen[bytes], channel: Channel[News]) -> None:
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):  # a host that ignores SIGCHLD: ended, and gone
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    else:
        child.wait()  # macOS before Python 3.13: the leader is reaped a little early
    channel.send(Happened.EXITED)
