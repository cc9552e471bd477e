"""WakePipe: wakes a thread out of `select` or `poll`, where no lock or channel could reach it."""

from __future__ import annotations

import os
from threading import RLock

from claw.cancel import CancelToken


class WakePipe:
    """Readable once `wake` was called or `cancel` has fired; watch it beside other descriptors.

    `close` it when the wait is over, or use it in a `with`. Where another thread does the waiting,
    that thread closes it, and whoever wants it to stop calls `hang_up`.
    """

    def __init__(self, cancel: CancelToken | None = None) -> None:
        self._lock = RLock()  # without it a late wake could write into somebody else's file
        self._reading, self._writing = os.pipe()
        self._can_wake = self._open = True
        self._detach = cancel.on_cancel(self.wake) if cancel is not None else None

    def fileno(self) -> int:
        return self._reading

    def wake(self) -> None:
        """From any thread; nothing once it is hung up or closed."""
        with self._lock:
            if self._can_wake:
                os.write(self._writing, b"!")

    def hang_up(self) -> None:
        """From any thread: after the last wake, if any, whoever waits reads the pipe's end."""
        with self._lock:
            if self._can_wake:
                self._can_wake = False
                os.close(self._writing)

    def close(self) -> None:
        """For the thread that waits; closing twice is harmless."""
        if self._detach is not None:
            self._detach()
        self.hang_up()
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._reading)

    def __enter__(self) -> WakePipe:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()
