"""SocketGuard: a cancel that reaches an HTTP request wherever it is stuck.

The thread that reads is blocked in the kernel; the cancel comes from another thread. What fails,
for a plain and a TLS connection alike:

- `Response.close()` from the other thread waits for the reader's lock, so it blocks the caller.
  `Session.close()` touches only idle connections. `raw.shutdown()` needs a response, and there is
  none while we connect, shake hands, send, or wait for the headers.
- Keeping the socket object: wrapping it for TLS detaches it, and what we kept is empty.
- Letting the connection close our handle: with `Connection: close` it does so after the headers.
- Shutting the socket of "my" connection: urllib3 puts a connection back into the pool before the
  last piece of the body is handed over. A cancel that comes a moment later would kill the next
  request, somebody else's.
- SHUT_RD alone does not wake a thread that sends a long request to a server that doesn't read.
- `shutdown` before the socket began to connect does nothing, and the connect goes on.

So the guard keeps a socket object of its own on a **dup of the descriptor**, from before the
connect until the connection goes back to the pool or the request ends. To cut means SO_LINGER 0
(our close will be a reset, which also ends a server that is blocked in a send) and a shutdown of
both directions (which wakes us in every state, and ends a server that reads). `watch`, `cut` and
`release` exclude each other under one lock, so what was released can't be cut any more; and what
was cut says so when it is released, so that it is closed and never used again. The lock is an
RLock: the garbage collector may run a cancel inside any of these sections, and each stays right
when `cut` runs in its middle.

After a cut the reader may see an error, or a clean end of the body: only the token tells which it
was. A name look-up can't be cut at all; see dial.py.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import RLock
from typing import Any, TypeAlias

from claw.cancel import CancelToken
from claw.providers.patience import Patience

AddressInfo: TypeAlias = tuple[Any, ...]
Resolver: TypeAlias = Callable[..., Sequence[AddressInfo]]
"""Looks a name up, called and answering as `socket.getaddrinfo`.

Contract: it is called on a thread of its own for each look-up, by several requests at once, and
may block: once its request is cancelled or its time is up, it is left behind and its answer is
dropped. It raises socket.gaierror for a name that it doesn't find.
"""

_active: ContextVar[SocketGuard] = ContextVar("claw_active_guard")
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class SocketGuard:
    """Guards one request: at most one socket at a time, until it is released or closed.

    All methods but `cut` are for the thread that makes the request. `resolver` looks names up, in
    the way of `socket.getaddrinfo`. patience: how long what the request does may take.
    """

    def __init__(self, cancel: CancelToken, resolver: Resolver = socket.getaddrinfo) -> None:
        self.cancel = cancel
        self.resolver = resolver
        self.patience = Patience(cancel)
        self._lock = RLock()
        self._handle: socket.socket | None = None
        self._was_cut = False
        self._clocks = (0.0, 0.0)
        self.connected = False
        self._detach = cancel.on_cancel(self.cut)

    @contextmanager
    def active(self, each: float, total: float) -> Iterator[None]:
        """While inside, connections that this thread takes from a guarded pool are ours.

        each, total: seconds without a byte, and from a connection to the whole head of the answer.
        urllib3 has no parameter that reaches from the request to the connection.
        """
        self._clocks = (each, total)
        self.patience.allow(each, total)
        previous = _active.set(self)
        try:
            yield
        finally:
            _active.reset(previous)

    def watch(self, sock: socket.socket) -> None:
        """From now on a cancel cuts `sock`, which may be a TLS socket."""
        handle = socket.socket(fileno=os.dup(sock.fileno()))
        with self._lock:
            earlier, self._handle = self._handle, handle
            if self._was_cut:
                _shut(handle)
        if earlier is not None:
            earlier.close()

    def cut(self) -> None:
        """Ends whatever the request is doing. Any thread may call it; it doesn't block."""
        with self._lock:
            self._was_cut = True
            if self._handle is not None:
                _shut(self._handle)

    def check(self) -> None:
        """Raises ConnectionAbortedError once the guard was cut."""
        if self._was_cut:
            raise ConnectionAbortedError("cancelled")

    def talk_on(self, sock: socket.socket) -> None:
        """There is a connection; what follows goes over `sock` (a TLS socket where there's TLS)."""
        self.connected = True
        self.patience.allow(*self._clocks)
        sock.settimeout(self.patience.left())

    def release(self) -> bool:
        """Lets the socket go. False if it was cut: then nobody may use it again."""
        with self._lock:
            handle, self._handle = self._handle, None
            usable = not self._was_cut
        if handle is not None:
            handle.close()
        return usable

    def close(self) -> None:
        """The request is over."""
        self._detach()
        self.release()


def active_guard() -> SocketGuard:
    """The guard under which this thread makes a request."""
    return _active.get()


def _shut(handle: socket.socket) -> None:
    with suppress(OSError):  # the other side was faster
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    with suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)
