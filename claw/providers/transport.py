"""HTTP for every dialect: one request, guarded, and its body piece by piece as it arrives.

The only module that needs requests, so it is imported when the first request is made: requests
costs about 90 ms. Foreign errors end here; see error_table.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from typing import Any

import requests
from urllib3.exceptions import HTTPError

from claw.errors import ConfigError, ProviderError
from claw.providers.chunks import PromptResponse
from claw.providers.connections import GuardedAdapter, GuardedConnection
from claw.providers.endpoint import Endpoint
from claw.providers.error_table import bad_status, broken_off, unanswered
from claw.providers.guard import SocketGuard
from claw.providers.proxies import proxy_for
from claw.providers.tap import Tap

READ_SIZE = 8192  # what the socket buffer under it holds; asking for more costs an allocation
ERROR_BODY_SIZE = 65536
ERROR_BODY_S = 2.0  # for all of it
CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


class Transport:
    """Connections to one endpoint, kept alive between requests. Any thread may use it.

    The environment's proxies and CA bundle are resolved once, with the first request. Connections
    are never shared with a forked child: the sessions are kept by process id.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._sessions: dict[int, requests.Session] = {}

    def post(self, body: bytes, guard: SocketGuard, tap: Tap | None = None) -> Reply:
        """Sends `body` and waits for the headers, as long as the endpoint's clocks and the token's
        deadline allow: the idle clock runs without a byte, the progress clock over all of it.

        Raises a ProviderError for anything but a status 2xx, ConfigError for settings that can't
        work, Cancelled. After a cancel any of them may come: the token decides. tap: sees the
        answer, a bad one too.
        """
        return self._send("POST", body, guard, tap)

    def get(self, guard: SocketGuard) -> Reply:
        """The same without a body, for what a server tells about itself; the progress clock runs
        over the whole answer."""
        return self._send("GET", None, guard)

    def _send(
        self, method: str, body: bytes | None, guard: SocketGuard, tap: Tap | None = None
    ) -> Reply:
        endpoint, clocks = self._endpoint, self._endpoint.clocks
        session = self._session()
        try:
            with guard.active(clocks.idle, clocks.progress):
                response = session.request(
                    method,
                    endpoint.url,
                    data=body,
                    stream=True,
                    allow_redirects=False,
                    timeout=(guard.patience.within_the_deadline(clocks.connect), clocks.idle),
                )
        except (requests.RequestException, HTTPError, OSError) as error:
            raise unanswered(error, endpoint, connected=guard.connected) from error
        reply = Reply(response, guard, endpoint, tap)
        if not 200 <= response.status_code < 300:
            with reply:
                text = reply.start_of_text()
            raise bad_status(response.status_code, response.headers, text, endpoint)
        return reply

    def close(self) -> None:
        """Closes idle connections; the next request opens new ones."""
        session = self._sessions.pop(os.getpid(), None)
        if session is not None:
            session.close()

    def _session(self) -> requests.Session:
        found = self._sessions.get(os.getpid())
        return found or self._sessions.setdefault(os.getpid(), new_session(self._endpoint))


class Reply:
    """The body of a good answer, and the connection it comes on. For one thread.

    pieces: the bytes as they arrive, to the end of the body in good order. Raises ReadTimeout
        (then the body can't be read any further), ConnectionLost or ProtocolError.
    patience: how long the reads to come may take.
    """

    def __init__(
        self,
        response: requests.Response,
        guard: SocketGuard,
        endpoint: Endpoint,
        tap: Tap | None = None,
    ) -> None:
        self._response = response
        self.patience = guard.patience
        self.pieces = _pieces(response.raw, endpoint)
        if tap is not None:
            tap.on_answer(response.status_code, response.headers)
            self.pieces = _told_to(tap, self.pieces)

    def start_of_text(self) -> str:
        """As much of an error's body as comes soon, broken or not."""
        start = b""
        self.patience.allow(ERROR_BODY_S, ERROR_BODY_S)
        with suppress(ProviderError):
            for piece in self.pieces:
                start += piece
                if len(start) >= ERROR_BODY_SIZE:
                    break
        return start.decode("utf-8", "replace")

    def __enter__(self) -> Reply:
        return self

    def __exit__(self, *unused: object) -> None:
        self._response.close()


def _pieces(raw: Any, endpoint: Endpoint) -> Iterator[bytes]:
    """The decoded body, each piece as soon as it has arrived, whatever the framing.

    Only `read1` is prompt: all other ways wait for a number of bytes, a whole chunk or the end.
    """
    answer = _undecoded(raw)
    try:
        if answer is not None:
            while piece := answer.read1(READ_SIZE):
                yield piece
            raw.release_conn()
        else:
            while piece := raw.read1(READ_SIZE, decode_content=True):
                yield piece
    except (HTTPError, HTTPException, OSError) as error:
        raise broken_off(error, endpoint) from error


def _told_to(tap: Tap, pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        tap.on_piece(piece)
        yield piece


def _undecoded(raw: Any) -> PromptResponse | None:
    """What is below urllib3's response, where nothing has to be decoded but the chunks, as in
    nearly every reply. The way through urllib3 costs an event that comes alone some 30 us more."""
    connection = raw.connection
    answer = connection.answer if isinstance(connection, GuardedConnection) else None
    if answer is None or not answer.chunked or "content-encoding" in raw.headers:
        return None
    return answer


def new_session(endpoint: Endpoint) -> requests.Session:
    """A Session that looks at no environment and no .netrc, with what it needs of them set."""
    session = requests.Session()
    session.trust_env = False
    session.headers.clear()
    session.headers.update(endpoint.headers)
    session.verify = _ca_bundle(endpoint)
    proxy = proxy_for(endpoint)
    session.proxies = {"http": proxy, "https": proxy} if proxy else {}
    for scheme in ("http://", "https://"):
        session.mount(scheme, GuardedAdapter())
    return session


def _ca_bundle(endpoint: Endpoint) -> bool | str:
    if endpoint.verify is not True:
        return _existing(endpoint.verify, "verify") if endpoint.verify else False
    for variable in CA_VARIABLES:
        if path := os.environ.get(variable):
            return _existing(path, variable)
    return True


def _existing(path: bool | str, source: str) -> str:
    if not os.path.exists(str(path)):
        raise ConfigError(f"{source} names a CA bundle that doesn't exist: {path}")
    return str(path)
