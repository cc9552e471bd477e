"""One connection as the misbehaving server sees it: notices at once when the client leaves."""

from __future__ import annotations

import json
import select
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tests.support.wire import http_chunk, http_head

STREAM = (("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked"))


class ClientLeft(Exception):
    """The client closed or reset the connection."""


class ServerClosed(Exception):
    """The test is over."""


@dataclass
class Request:
    """What came in. via: "" straight, "absolute" or "CONNECT" through the proxy mode."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    via: str
    peer: Peer = field(repr=False)
    number_on_connection: int = 1

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])


class Peer:
    """The server's end of one connection. Behaviours call these methods; for one thread.

    `left` is set, and `left_at` (monotonic seconds) noted, as soon as the client is gone.
    """

    def __init__(self, sock: socket.socket, stop: int) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.left = threading.Event()
        self.left_at: float | None = None
        self._stop = stop
        self._buffer = b""

    # --- sending --------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Raw bytes, however long the client takes; ClientLeft when it goes."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.sock.send(view) :]
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                self._wait(select.POLLOUT)
            except OSError:
                self._gone()

    def start_stream(self) -> None:
        """Status 200 and the headers of a chunked event stream."""
        self.send(http_head(200, STREAM))

    def chunk(self, data: bytes) -> None:
        self.send(http_chunk(data))

    def end_stream(self) -> None:
        self.send(b"0\r\n\r\n")

    def answer(self, status: int, body: bytes | str, **headers: str) -> None:
        """A whole answer; `Retry_After="5"` becomes the header Retry-After."""
        data = body.encode() if isinstance(body, str) else body
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        self.send(http_head(status, [*named, ("Content-Length", str(len(data)))]) + data)

    def error(self, status: int, words: str, **headers: str) -> None:
        """An error as OpenAI words it."""
        self.answer(status, json.dumps({"error": {"message": words}}), **headers)

    # --- waiting and ending ---------------------------------------------------------------------

    def hold(self, seconds: float | None = None) -> None:
        """Silence, for ever or for so long; ClientLeft as soon as the client goes."""
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            self._wait(0, end)

    def reset(self) -> None:
        """Ends the connection with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    # --- receiving ------------------------------------------------------------------------------

    def read_request(self, number: int, via: str) -> Request:
        while b"\r\n\r\n" not in self._buffer:
            self._receive()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        length = int(headers.get("content-length", "0"))
        while len(self._buffer) < length:
            self._receive()
        raw, self._buffer = self._buffer[:length], self._buffer[length:]
        return Request(method, path, headers, raw, via, self, number)

    def start_tls(self, context: ssl.SSLContext) -> None:
        self._wait(select.POLLIN)
        try:  # wrapping a connection that was reset already would leak a socket in Python 3.11
            self.sock.recv(1, socket.MSG_PEEK)
            self.sock = context.wrap_socket(
                self.sock, server_side=True, do_handshake_on_connect=False
            )
        except OSError:
            self._gone()
        while True:
            try:
                return self.sock.do_handshake()
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)
            except OSError:
                self._gone()

    def _receive(self) -> None:
        while True:
            try:
                data = self.sock.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._wait(select.POLLIN)
                continue
            except OSError:
                data = b""
            if not data:
                self._gone()
            self._buffer += data
            return

    def _wait(self, events: int, end: float | None = None) -> None:
        """Until the socket is ready for `events` (none: only for its end)."""
        poll = select.poll()
        poll.register(self.sock, events | select.POLLRDHUP)
        poll.register(self._stop, select.POLLIN)
        timeout = None if end is None else max(0.0, end - time.monotonic()) * 1000
        for descriptor, found in poll.poll(timeout):
            if descriptor == self._stop:
                raise ServerClosed
            left = found & (select.POLLHUP | select.POLLERR)
            if not events & select.POLLIN:  # what came before the end is still read
                left = left or found & select.POLLRDHUP
            if left:
                self._gone()

    def _gone(self) -> None:
        if not self.left.is_set():
            self.left_at = time.monotonic()
            self.left.set()
        raise ClientLeft
