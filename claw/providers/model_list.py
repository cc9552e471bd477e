"""The models a server offers: `GET /models`, the same in both dialects but for its pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from claw.cancel import CancelToken
from claw.errors import ProtocolError, ProviderError, ReadTimeout
from claw.providers.endpoint import Endpoint, masked
from claw.providers.guard import SocketGuard
from claw.providers.http_provider import HTTPProvider
from claw.providers.server_errors import one_line, read_error_text

LIST_BYTES = 20_000_000  # OpenRouter's list is about 1 MB
MOST_PAGES = 20
SHOWN = 80  # characters of what came in place of a list
POSTING_PATHS = ("/chat/completions", "/messages")


def list_models(
    provider: HTTPProvider, cancel: CancelToken, *, timeout: float = 10.0
) -> tuple[str, ...]:
    """The names of the models of `provider`'s server, in the server's order; `timeout` in seconds.

    Raises ProviderError (ProtocolError where what answers is no such list), ConfigError,
    Cancelled. It blocks the calling thread.
    """
    url = models_url(provider.endpoint.url)
    with cancel.child(timeout) as limit:
        try:
            return tuple(_names(provider.endpoint, url, limit))
        except ProviderError as error:
            cancel.raise_if_cancelled()
            if limit.cancelled:
                host = provider.endpoint.host
                raise ReadTimeout(f"{host} didn't list its models within {timeout:g} s") from None
            raise masked(error, provider.secrets) from error.__cause__


def models_url(url: str) -> str:
    """Where a provider's server lists its models, from where it takes requests."""
    for path in POSTING_PATHS:
        url = url.removesuffix(path)
    return f"{url}/models"


def _names(endpoint: Endpoint, url: str, cancel: CancelToken) -> Iterator[str]:
    query = ""
    for _ in range(MOST_PAGES):
        page = _page(replace(endpoint, url=url + query), cancel)
        yield from map(_name, _entries(page))
        last = page.get("last_id") if isinstance(page, dict) and page.get("has_more") else None
        if not isinstance(last, str):
            return
        query = f"?after_id={quote(last, safe='')}"  # the Messages dialect lists 20 at a time


def _page(endpoint: Endpoint, cancel: CancelToken) -> Any:
    """The JSON at `endpoint`, or ProtocolError where there is something else."""
    text = _fetch(endpoint, cancel).decode("utf-8", "replace")
    try:
        page = json.loads(text)
        named = all(map(_name, _entries(page)))
    except (ValueError, RecursionError, LookupError, TypeError):
        named = False
    if not named:
        words = one_line(read_error_text(text[:1000]).words, SHOWN) or "nothing"
        raise ProtocolError(f"GET {endpoint.url} gave no list of models, but {words}")
    return page


def _entries(page: Any) -> list[Any]:
    """The models on a page; some servers send the bare list."""
    entries = page if isinstance(page, list) else page["data"]
    return [] if entries is None else list(entries)


def _name(entry: Any) -> str:
    return str(entry["id"])


def _fetch(endpoint: Endpoint, cancel: CancelToken) -> bytes:
    from claw.providers.transport import Transport

    guard = SocketGuard(cancel, endpoint.resolver)
    pieces: list[bytes] = []
    size = 0
    try:
        with (
            closing(Transport(endpoint)) as transport,
            transport.get(
                guard,
                connect_timeout=_bounded(endpoint.clocks.connect, cancel),
                timeout=_bounded(endpoint.clocks.idle, cancel),
            ) as reply,
        ):
            for piece in reply.pieces:
                pieces.append(piece)
                size += len(piece)
                if size > LIST_BYTES or cancel.cancelled:
                    raise ProtocolError(f"{endpoint.url} sends more than a list of models")
                reply.set_timeout(_bounded(endpoint.clocks.idle, cancel))
    finally:
        guard.close()
    return b"".join(pieces)


def _bounded(seconds: float, cancel: CancelToken) -> float:
    """No longer than the token lives; a socket's timeout can't be 0."""
    left = cancel.remaining()
    return seconds if left is None else max(0.001, min(seconds, left))
