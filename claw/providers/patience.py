"""How long a request may wait: for each read, and for all of them together.

A socket's timeout is for one `recv`, and http.client receives until a line is whole, so a server
that sends a byte now and then would be listened to for ever, with no timeout ever passing. Hence
each recv asks here how long it may take, also in the middle of a line, a chunk or a block of gzip.
What a caller's deadline leaves is asked for as well: where the thread that reads is the caller's
own, nobody else watches it.
"""

from __future__ import annotations

import io
import math
import socket
import time

from claw.cancel import CancelToken

AFTER_THE_DEADLINE = 0.001  # seconds, so that it is over when whoever waited looks


class TookTooLong(TimeoutError):
    """Bytes came, but in all the time there was not what they belong to."""


class Patience:
    """The clocks of one request; for the thread that makes it.

    each: seconds without a single byte. end: when all of it has to be there (monotonic seconds).
    The deadline of `cancel` ends every wait, too; who sees it pass looks at the token.
    """

    def __init__(self, cancel: CancelToken) -> None:
        self.each = math.inf
        self.end = math.inf
        self._deadline = math.inf if cancel.deadline is None else cancel.deadline

    def allow(self, each: float, total: float) -> None:
        """From now on so many seconds without a byte, and `total` for all that is waited for."""
        self.each = each
        self.end = time.monotonic() + total

    def left(self) -> float:
        """Seconds that the next step may wait, above 0; or TookTooLong."""
        now = time.monotonic()
        left = min(self.each, self.end - now, self._deadline - now + AFTER_THE_DEADLINE)
        if left <= 0:
            raise TookTooLong("there is no time left")
        return left

    def within_the_deadline(self, seconds: float) -> float:
        """`seconds`, or what the deadline leaves of them; above 0."""
        left = self._deadline - time.monotonic() + AFTER_THE_DEADLINE
        return max(AFTER_THE_DEADLINE, min(seconds, left))


class PatientSocket:
    """What http.client is given in place of a socket, to read an answer from."""

    def __init__(self, sock: socket.socket, patience: Patience) -> None:
        self._sock = sock
        self._patience = patience

    def makefile(self, mode: str) -> io.BufferedReader:
        """http.client asks for "rb", once."""
        return io.BufferedReader(PatientReader(self._sock, self._patience))


class PatientReader(io.RawIOBase):
    """Reads from a socket, plain or TLS, and asks before each recv how long it may wait."""

    def __init__(self, sock: socket.socket, patience: Patience) -> None:
        super().__init__()
        self._sock = sock
        self._file = sock.makefile("rb", buffering=0)  # keeps the socket open while it is read
        self._patience = patience
        self._armed = 0.0  # the timeout that the socket has; setting it costs a system call

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        left = self._patience.left()
        if left != self._armed:
            self._sock.settimeout(left)
            self._armed = left
        try:
            return self._file.readinto(buffer)
        except TimeoutError as error:
            if left < self._patience.each:
                raise TookTooLong(str(error)) from error
            raise

    def close(self) -> None:
        self._file.close()
        super().close()
