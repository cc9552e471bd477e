"""TapeWriter: puts a tape on the disk, on a thread of its own.

The run's threads only append to two deques and, ten times a second at most, wake the thread that
encodes and writes. So a slow disk costs them nothing, and many small pieces become few records.
What waits is bounded; once it can't be written, or doesn't fit, the tape ends there and the run
goes on.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

from claw.errors import ClawError, ConfigError
from claw.log import log
from claw.tape.lanes import BodyEnd, Made, Piece, Recording, Told
from claw.tape.masking import Secrets

T = TypeVar("T")

GATHER_S = 0.1
MOST_WAITING = 50_000
CLOSE_S = 5.0
FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
HEAD = b'{"type":"tape"'


class TapeWriter:
    """A new tape at `path`. Any thread may put something on it. Close it at the end.

    A file that is there is replaced if it is a tape; ConfigError if it is anything else, or can't
    be written. failure: why the tape ends before the run does, in one line; "" while it doesn't.
    """

    def __init__(self, path: Path) -> None:
        self.failure = ""
        self._path = path
        self._descriptor = _opened(path)
        self._started = time.monotonic()
        self._recording = Recording()
        self._wire: deque[Piece | BodyEnd | Made] = deque()
        self._told: deque[Told | Made] = deque()
        self._waiters: deque[Event] = deque()
        self._awake, self._hurry = Event(), Event()
        self._closing = False
        self._thread = Thread(target=self._work, name="claw-tape", daemon=True)
        self._thread.start()

    def now(self) -> float:
        """Seconds since the tape began."""
        return time.monotonic() - self._started

    def hide(self, secrets: Secrets) -> None:
        """From now on these are masked."""
        self._recording.secrets = secrets

    def put_wire(self, item: Piece | BodyEnd | Made) -> None:
        """For what goes over the wire: it is written before the events that were put after it."""
        self._put(self._wire, item)

    def put(self, item: Told | Made) -> None:
        """For all else; what one thread puts stays in its order."""
        self._put(self._told, item)

    def flush(self, timeout: float) -> bool:
        """Waits until all that was put is written; False if it isn't within `timeout` seconds."""
        done = Event()
        self._waiters.append(done)
        self._hurry.set()
        self._awake.set()
        return done.wait(timeout)

    def close(self) -> None:
        """Writes what waits and closes the file. A disk that hangs is left behind after 5 s."""
        self._closing = True
        self._hurry.set()
        self._awake.set()
        self._thread.join(CLOSE_S)

    def _put(self, queue: deque[T], item: T) -> None:
        if self.failure:
            return
        if len(queue) >= MOST_WAITING:
            self._fail("the disk is too slow")
            return
        queue.append(item)
        if not self._awake.is_set():
            self._awake.set()

    def _work(self) -> None:
        while True:
            self._awake.wait()
            self._hurry.wait(GATHER_S)
            self._awake.clear()
            self._hurry.clear()
            closing, waiters = self._closing, _taken(self._waiters)
            self._write(closing)
            for done in waiters:
                done.set()
            if closing:
                with suppress(OSError):
                    os.close(self._descriptor)
                return

    def _write(self, closing: bool) -> None:
        told = _taken(self._told)  # first: what it came of is then on the wire's queue, too
        wire = _taken(self._wire)
        if self.failure:
            return
        try:
            self._append(b"".join(self._recording.lines(wire, told)))
            if closing:
                self._append(b"".join(self._recording.rest()))
        except OSError as error:
            self._fail(error.strerror or str(error))
        except ClawError as error:
            self._fail(error.message)
        except Exception as error:  # else it would end this thread, and nobody would be told
            log().debug("the tape's thread failed", exc_info=True)
            self._fail(f"a fault in claw, {type(error).__name__}: {error}")

    def _append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]

    def _fail(self, why: str) -> None:
        self.failure = f"{self._path} can't be written: {why}. The tape ends here, the run goes on"


def _taken(queue: deque[T]) -> list[T]:
    """All that is there now; other threads may put more behind it meanwhile."""
    return [queue.popleft() for _ in range(len(queue))]


def _opened(path: Path) -> int:
    """The file, empty and for the user's eyes only. A device or a FIFO is taken as it is."""
    try:
        descriptor = os.open(path, FLAGS, 0o600)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if status.st_size and os.read(descriptor, len(HEAD)) != HEAD:
                raise ConfigError(f"{path} is there and is no tape: give the name of a new file")
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.ftruncate(descriptor, 0)
            os.fchmod(descriptor, 0o600)
    except BlockingIOError as error:
        os.close(descriptor)
        raise ConfigError(f"another claw is writing to {path}") from error
    except OSError as error:
        os.close(descriptor)
        raise ConfigError(f"{path} can't be written: {error.strerror}") from error
    except ConfigError:
        os.close(descriptor)
        raise
    return descriptor
