"""A raw-socket HTTP/1.1 server on loopback that behaves as a script says, badly if need be.

    with serve(reply("Hello"), never_answer) as server:
        OpenAIChat("m", base_url=server.url) ...
        server.requests[0].messages; server.wait_disconnect(1)

Each request takes the next behaviour; the last one is kept for all that follow. A behaviour is a
function of the Peer (what it can do to the client) and the Request. Everything ends with the
`with`: sockets closed, threads joined.
"""

from __future__ import annotations

import os
import queue
import re
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.support.peer import ClientLeft, Peer, Request, ServerClosed
from tests.support.wire import history_fault, text, text_reply, tool_reply

Behaviour: TypeAlias = Callable[[Peer, Request], None]


class Server:
    """Made by `serve`. `url` is a base URL; `requests` and `peers` grow as they come in."""

    def __init__(
        self, behaviours: tuple[Behaviour, ...], *, tls: bool, proxy: bool, stall_handshake: bool
    ) -> None:
        self.requests: list[Request] = []
        self.peers: list[Peer] = []
        self.ca_file: str = ""
        self._behaviours = list(behaviours)
        self._proxy = proxy
        self._stall_handshake = stall_handshake
        self._lock = threading.Lock()
        self._arrivals: queue.Queue[Request] = queue.Queue()
        self._connections: queue.Queue[Peer] = queue.Queue()
        self._threads: list[threading.Thread] = []
        self._cleanup = ExitStack()
        self._stop, self._stopper = os.pipe()
        self._context = self._make_context() if tls else None
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept, "test-server")

    @property
    def url(self) -> str:
        scheme = "https" if self._context and not self._proxy else "http"
        return f"{scheme}://127.0.0.1:{self.port}/v1"

    @property
    def proxy_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_request(self, timeout: float = 5) -> Request:
        """The next request that nobody waited for yet, read in full."""
        return self._arrivals.get(timeout=timeout)

    def wait_connection(self, timeout: float = 5) -> Peer:
        """The next accepted connection that nobody waited for yet."""
        return self._connections.get(timeout=timeout)

    def wait_disconnect(self, timeout: float = 5, connection: int = -1) -> float:
        """The monotonic time at which the client left that connection (by default the newest)."""
        peer = self.peers[connection]
        assert peer.left.wait(timeout), "the client didn't leave"
        assert peer.left_at is not None
        return peer.left_at

    def close(self) -> None:
        os.close(self._stopper)  # every poll sees it
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        self._listener.close()
        for thread in self._threads:
            thread.join(5)
        os.close(self._stop)
        self._cleanup.close()

    def _start(self, target: Callable[..., None], name: str, *args: Any) -> None:
        thread = threading.Thread(target=target, name=name, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _make_context(self) -> ssl.SSLContext:
        import trustme

        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1", "localhost", "model.test").configure_cert(context)
        folder = self._cleanup.enter_context(tempfile.TemporaryDirectory())
        self.ca_file = os.path.join(folder, "ca.pem")
        authority.cert_pem.write_to_path(self.ca_file)
        return context

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            peer = Peer(sock, self._stop)
            self.peers.append(peer)
            self._connections.put(peer)
            self._start(self._serve, f"test-peer-{len(self.peers)}", peer)

    def _serve(self, peer: Peer) -> None:
        try:
            via = self._open_tunnel(peer) if self._proxy and self._context else ""
            if self._stall_handshake:
                peer.hold()
            if self._context:
                peer.start_tls(self._context)
            number = 0
            while peer.sock.fileno() >= 0:
                number += 1
                request = peer.read_request(number, via)
                if request.path.startswith("http://"):
                    request.via = "absolute"
                self._next_behaviour(request)(peer, request)
        except (ClientLeft, ServerClosed):
            pass
        finally:
            peer.sock.close()

    def _open_tunnel(self, peer: Peer) -> str:
        request = peer.read_request(0, "")
        peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return request.method

    def _next_behaviour(self, request: Request) -> Behaviour:
        with self._lock:
            self.requests.append(request)
            self._arrivals.put(request)
            if len(self._behaviours) > 1:
                return self._behaviours.pop(0)
            return self._behaviours[0]


@contextmanager
def serve(
    *behaviours: Behaviour, tls: bool = False, proxy: bool = False, stall_handshake: bool = False
) -> Iterator[Server]:
    """A server for the time of a `with`.

    tls: https, verified with `server.ca_file`. proxy: it is an HTTP proxy that answers in the
    origin's place, CONNECT with `tls`, else absolute URLs. stall_handshake: it accepts and never
    shakes hands.
    """
    server = Server(
        behaviours or (reply("Hello"),), tls=tls, proxy=proxy, stall_handshake=stall_handshake
    )
    try:
        yield server
    finally:
        server.close()


@contextmanager
def unanswered_port() -> Iterator[int]:
    """A port where a connect gets no answer: its queue of connections is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


# --- behaviours ---------------------------------------------------------------------------------


def reply(*pieces: str) -> Behaviour:
    """Answers with these pieces of text, in good order; the connection stays open."""
    return stream(*text_reply(*pieces))


def stream(*events: bytes) -> Behaviour:
    """Answers with these events, each in an HTTP chunk of its own."""

    def behave(peer: Peer, request: Request) -> None:
        peer.start_stream()
        for each in events:
            peer.chunk(each)
        peer.end_stream()

    return behave


def status(code: int, body: str = "", **headers: str) -> Behaviour:
    """Answers with a status and OpenAI's error body around `body`."""
    return lambda peer, request: peer.error(code, body, **headers)


def never_answer(peer: Peer, request: Request) -> None:
    """Takes the request and says nothing."""
    peer.hold()


def headers_then_silence(peer: Peer, request: Request) -> None:
    peer.start_stream()
    peer.hold()


def one_delta_then_silence(peer: Peer, request: Request) -> None:
    peer.start_stream()
    peer.chunk(text("Hel"))
    peer.hold()


def flood(peer: Peer, request: Request) -> None:
    """Text without end, as fast as the client takes it."""
    peer.start_stream()
    block = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in [text("flood ")] * 100)
    while True:
        peer.send(block)


def drip(words: str, every: float) -> Behaviour:
    """A whole answer, one character and one pause at a time."""

    def behave(peer: Peer, request: Request) -> None:
        peer.start_stream()
        for event in text_reply(*words):
            peer.chunk(event)
            peer.hold(every)
        peer.end_stream()

    return behave


def cut_after(*events: bytes) -> Behaviour:
    """These events, then the connection is closed with the body unfinished."""

    def behave(peer: Peer, request: Request) -> None:
        peer.start_stream()
        for each in events:
            peer.chunk(each)
        peer.sock.close()

    return behave


def close_at_once(peer: Peer, request: Request) -> None:
    """Takes the request and closes without a word."""
    peer.sock.close()


def late_end(seconds: float) -> Behaviour:
    """A whole answer whose last, empty HTTP chunk comes late."""

    def behave(peer: Peer, request: Request) -> None:
        peer.start_stream()
        for each in text_reply("Hello"):
            peer.chunk(each)
        peer.hold(seconds)
        peer.end_stream()

    return behave


def after_done_silence(peer: Peer, request: Request) -> None:
    """A whole answer up to [DONE], then the connection is held open."""
    peer.start_stream()
    for each in text_reply("Hello"):
        peer.chunk(each)
    peer.hold()


def raw(data: bytes) -> Behaviour:
    """These bytes in place of an answer, then the connection is closed."""

    def behave(peer: Peer, request: Request) -> None:
        peer.send(data)
        peer.sock.close()

    return behave


def trickle(head: bytes, piece: bytes, every: float = 0.02) -> Behaviour:
    """`head`, then `piece` and a pause of `every` seconds, until the client goes."""

    def behave(peer: Peer, request: Request) -> None:
        peer.send(head)
        while True:
            peer.send(piece)
            peer.hold(every)

    return behave


# --- a scripted model ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """One answer: words, calls (id, name, arguments), or both."""

    words: str = ""
    calls: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()


def model(*turns: Turn | str) -> Behaviour:
    """Plays the turns in order, one for each request, whatever the connection.

    A request whose history a strict server would refuse gets a 400 that says why, and takes no
    turn. After the last turn it answers 500.
    """
    left = [Turn(turn) if isinstance(turn, str) else turn for turn in turns]
    lock = threading.Lock()

    def behave(peer: Peer, request: Request) -> None:
        fault = history_fault(request.messages)
        if fault:
            peer.error(400, f"invalid history: {fault}")
            return
        with lock:
            turn = left.pop(0) if left else None
        if turn is None:
            peer.error(500, "the script has no more turns")
        elif turn.calls:
            stream(*tool_reply(*turn.calls, words=turn.words))(peer, request)
        else:
            stream(*text_reply(*re.findall(r"\S+\s*|\s+", turn.words)))(peer, request)

    return behave
