"""HTTPProvider: what the dialects share. A dialect is a path, headers, a body and an assembler."""

from __future__ import annotations

import json
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar

from claw.cancel import CancelToken
from claw.errors import ConfigError, ProviderError
from claw.events import StreamEvent
from claw.providers.assembler import Assembler
from claw.providers.base import ModelRequest
from claw.providers.endpoint import (
    Clocks,
    Endpoint,
    checked_base_url,
    checked_clocks,
    checked_headers,
    checked_key,
)
from claw.providers.guard import Resolver
from claw.providers.manner import Manner, Remedy
from claw.providers.masking import secrets_of
from claw.providers.quirks import NO_QUIRKS, Quirks
from claw.providers.reply import ReplyReader
from claw.providers.retry import RetryPolicy, with_retries
from claw.providers.tap import Sent

if TYPE_CHECKING:
    from claw.providers.transport import Transport

COMMON_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "text/event-stream, application/json",
    "Accept-Encoding": "identity",  # a compressor may hold back what was sent
    "User-Agent": "claw",
}


class HTTPProvider(ABC):
    """A StreamingProvider that posts JSON and reads an event stream.

    model: the name the server knows. base_url: up to what the dialect appends. headers: sent with
    each request, they win over claw's. params: further fields of the body (temperature, ...).
    Times in seconds, see Clocks; there is no limit on a whole reply but the token's deadline.
    max_retries: only before anything of the reply was shown. verify: False, or the path of a CA
    bundle, instead of the environment's. proxies: as requests takes them, instead of the
    environment's. quirks: what this server wants otherwise than its dialect says. What it refuses
    by name (a parameter, tools) is left out from then on, and told as Retrying.
    resolver: looks names up, in the way of `socket.getaddrinfo`.

    Making one does no I/O; ConfigError says what the user must mend. It can be pickled, used by
    any number of threads at once, and used after a fork.

    Contract for a dialect, its four abstract methods: none does I/O, changes the provider or keeps
    anything between two calls. `url_for` and `headers_for` are called once, by the constructor;
    they may raise ConfigError. `body_for` and `new_assembler` are called on the `claw-producer`
    threads of several runs at once, for each time that a request is sent. They should not raise:
    that fails the request, as a fault of the provider's code. `dialect` is its name on tapes.
    """

    dialect: ClassVar[str] = ""

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        connect_timeout: float = 10,
        idle_timeout: float = 300,
        progress_timeout: float = 900,
        max_reply_bytes: int = 50_000_000,
        max_retries: int = 2,
        verify: bool | str = True,
        proxies: Mapping[str, str] | None = None,
        quirks: Quirks = NO_QUIRKS,
        resolver: Resolver = socket.getaddrinfo,
    ) -> None:
        if not model:
            raise ConfigError("no model is set: name one that the server offers")
        key, extra = checked_key(api_key), checked_headers(headers)
        self.model = model
        self._given = Manner(quirks, _checked_params(params))
        self._remedies: dict[str, Remedy] = {}  # by their words; any thread may add one
        self.max_reply_bytes = max_reply_bytes
        self.policy = RetryPolicy(max_retries)
        self.endpoint = Endpoint(
            url=self.url_for(checked_base_url(base_url)),
            headers=_merged(COMMON_HEADERS, self.headers_for(key), extra),
            secrets=secrets_of(key, extra),
            key=key,
            clocks=checked_clocks(Clocks(connect_timeout, idle_timeout, progress_timeout)),
            verify=verify,
            proxies=proxies,
            resolver=resolver,
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no tool may see: the key, and the values of headers that look like one."""
        return self.endpoint.secrets

    @property
    def manner(self) -> Manner:
        """How the server is asked by now: as it was told, and with what its refusals taught."""
        return reduce(Manner.mended, tuple(self._remedies.values()), self._given)

    @property
    def quirks(self) -> Quirks:
        return self.manner.quirks

    @property
    def params(self) -> Mapping[str, Any]:
        return self.manner.params

    @abstractmethod
    def url_for(self, base_url: str) -> str:
        """Where to post; `base_url` was checked and has no slash at its end."""

    @abstractmethod
    def headers_for(self, key: str | None) -> Mapping[str, str]:
        """How this dialect sends the key, if there is one, and what else its servers want."""

    @abstractmethod
    def body_for(self, request: ModelRequest) -> bytes:
        """The JSON to post, in the manner of now: see `quirks` and `params`. The same bytes for the
        same request, as long as nothing was learned: a mend is known by what it changes."""

    @abstractmethod
    def new_assembler(self) -> Assembler:
        """What folds one reply of this dialect; a new one each time."""

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        """Deltas and Retrying, then one Completed or Failed, last; neither only after a cancel."""
        from claw.providers.exchange import HTTPExchange  # requests costs 90 ms

        asked, sent = self.manner, b""

        def begin() -> HTTPExchange:
            nonlocal asked, sent
            asked = self.manner
            sent = body = self.body_for(request)
            reader = ReplyReader(self.new_assembler(), max_reply_bytes=self.max_reply_bytes)
            told, tap = request.on_partial_usage, request.tap
            if tap is not None:
                tap.on_request(self._as_sent(body, asked.quirks))
            return HTTPExchange(self._transport, self.endpoint, body, reader, cancel, told, tap)

        def mend(error: ProviderError) -> str:
            from claw.providers.mending import remedies_for  # its patterns cost 5 ms

            for remedy in remedies_for(error, asked):
                known = self._remedies.setdefault(remedy.words, remedy) is not remedy
                if known or self.body_for(request) != sent:
                    return f"{remedy.words} from now on"
                del self._remedies[remedy.words]  # what it takes away was never sent
            return ""

        events = with_retries(begin, self.policy, cancel, mend)
        if self.quirks.calls_in_text and request.tools:
            from claw.providers.text_calls import with_text_calls

            return with_text_calls(events, request.tools)
        return events

    def _as_sent(self, body: bytes, quirks: Quirks) -> Sent:
        url, limit = self.endpoint.url, self.max_reply_bytes
        return Sent(self.dialect, self.model, url, body, quirks, limit)

    def close(self) -> None:
        """Closes idle connections. The provider can still be used; it opens new ones."""
        self._transport.close()

    @cached_property
    def _transport(self) -> Transport:
        from claw.providers.transport import Transport

        return Transport(self.endpoint)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_transport"}


def _checked_params(params: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        json.dumps(params or {}, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:  # NaN and Infinity aren't JSON
        raise ConfigError(f"params can't be sent as JSON: {error}") from None
    return dict(params or {})


def _merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """Later layers win, whatever the case of a header's name."""
    merged: dict[str, tuple[str, str]] = {}
    for layer in layers:
        merged |= {name.lower(): (name, value) for name, value in layer.items()}
    return dict(merged.values())
