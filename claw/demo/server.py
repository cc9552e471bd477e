"""The demo's HTTP server: loopback only, standard library only, a script behind it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socket import SHUT_RDWR, create_connection, socket
from socketserver import TCPServer
from threading import Event, Thread
from typing import Any

from claw.demo.script import ScriptFailed, reply_to
from claw.demo.wire import bursts

PATH = "/v1/chat/completions"


class DemoServer(TCPServer):
    """Serves the script on a free port while it is entered; each thread is a named daemon.

    pace: 1 sends text at a readable speed, 0 without pauses. `failure` says what was wrong with a
    request; it is set before that request is answered, and None as long as all was well.
    """

    def __init__(self, test_command: str, *, pace: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.test_command = test_command
        self.pace = pace
        self.failure: str | None = None
        self.closing = Event()
        self._open: set[socket] = set()
        self._threads = [Thread(target=self._serve, name="claw-demo-accept", daemon=True)]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> DemoServer:
        self._threads[0].start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.closing.set()
        create_connection(("127.0.0.1", self.server_address[1])).close()  # wakes the accept
        accepting, *answering = self._threads
        accepting.join()
        for connection in list(self._open):
            _shut(connection)
        for thread in answering:
            thread.join()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread per connection: a client may keep an idle one beside the one it uses."""
        self._open.add(request)
        thread = Thread(
            target=self._answer,
            args=(request, client_address),
            name="claw-demo-connection",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return not self.closing.is_set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is a fault of the demo itself."""
        error = sys.exception()
        if not isinstance(error, OSError):
            self.failure = f"the demo's server failed: {type(error).__name__}: {error}"

    def _serve(self) -> None:
        while not self.closing.is_set():
            self.handle_request()

    def _answer(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except Exception:
            self.handle_error(request, client_address)
        finally:
            self._open.discard(request)
            self.shutdown_request(request)


class Handler(BaseHTTPRequestHandler):
    """One connection: HTTP/1.1 with keep-alive, replies as chunked server-sent events."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # each piece is to leave by itself
    server: DemoServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != PATH:
            self._refuse(404, f"there is nothing at {self.path}: the demo serves {PATH}")
            return
        try:
            request = json.loads(body)
            reply = reply_to(request, self.server.test_command)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            self._fail(f"the request can't be read: {type(error).__name__}: {error}")
        except ScriptFailed as error:
            self._fail(str(error))
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for burst in bursts(reply, len(body), len(request["messages"])):
                if self.server.closing.wait(burst.pause * self.server.pace):
                    self.close_connection = True
                    return
                for piece in burst.pieces:
                    self._write_chunk(piece)
            self._write_chunk(b"")

    def _write_chunk(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _fail(self, words: str) -> None:
        self.server.failure = words
        self._refuse(400, words)

    def _refuse(self, status: int, words: str) -> None:
        answer: Mapping[str, Any] = {"error": {"message": words, "type": "invalid_request_error"}}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """The screen belongs to the demo."""


def _shut(connection: socket) -> None:
    with suppress(OSError):  # the client was faster
        connection.shutdown(SHUT_RDWR)
