"""WakePipe: lets `select` wait for a descriptor and for a cancel at once."""

from __future__ import annotations

import os
from threading import RLock

from claw.cancel import CancelToken


class WakePipe:
    """Readable from the moment the token is cancelled. Close it when the wait is over,
    or use it in a `with`."""

    def __init__(self, cancel: CancelToken) -> None:
        self._lock = RLock()
        self._reading, self._writing = os.pipe()
        self._open = True
        self._detach = cancel.on_cancel(self._wake)

    def fileno(self) -> int:
        return self._reading

    def close(self) -> None:
        self._detach()
        with self._lock:
            self._open = False
            os.close(self._reading)
            os.close(self._writing)

    def __enter__(self) -> WakePipe:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def _wake(self) -> None:
        with self._lock:  # never write to a number that is somebody else's by now
            if self._open:
                os.write(self._writing, b"x")
