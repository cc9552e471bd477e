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
from claw.providers.endpoint import Endpoint
from claw.providers.guard import SocketGuard
from claw.providers.http_provider import HTTPProvider
from claw.providers.masking import masked, without_secrets
from claw.providers.server_errors import one_line, read_error_text
from claw.values import frozen

LIST_BYTES = 20_000_000  # OpenRouter's list is about 1 MB
MOST_PAGES = 20
SHOWN = 80  # characters of what came in place of a list
POSTING_PATHS = ("/chat/completions", "/messages")


@frozen
class ModelList:
    """names: as the server gave them, in its order, each once. left_out: entries without one."""

    names: tuple[str, ...] = ()
    left_out: int = 0


def list_models(provider: HTTPProvider, cancel: CancelToken, *, timeout: float = 10.0) -> ModelList:
    """The models of `provider`'s server; `timeout` in seconds.

    An entry without a name is left out; a list in which no entry has one is none. Raises
    ProviderError (ProtocolError where what answers is no such list), ConfigError, Cancelled. It
    blocks the calling thread.
    """
    url = models_url(provider.endpoint.url)
    with cancel.child(timeout) as limit:
        try:
            names = list(_names(provider.endpoint, url, limit))
            named = dict.fromkeys(filter(None, names))
            return ModelList(tuple(named), names.count(""))
        except ProviderError as error:
            cancel.raise_if_cancelled()
            if limit.cancelled:
                host = provider.endpoint.host
                raise ReadTimeout(f"{host} didn't list its models within {timeout:g} s") from None
            raise masked(error, provider.secrets, provider.endpoint.key) from error.__cause__


def models_url(url: str) -> str:
    """Where a provider's server lists its models, from where it takes requests."""
    for path in POSTING_PATHS:
        url = url.removesuffix(path)
    return f"{url}/models"


def _names(endpoint: Endpoint, url: str, cancel: CancelToken) -> Iterator[str]:
    """The name of each entry of each page, "" where it has none."""
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
        entries = _entries(page)
        if not entries or any(map(_name, entries)):
            return page
    except (ValueError, RecursionError, LookupError, TypeError):
        pass
    text = without_secrets(text[:1000], endpoint.secrets)  # before it is cut again
    words = one_line(read_error_text(text).words, SHOWN) or "nothing"
    raise ProtocolError(f"GET {one_line(endpoint.url)} gave no list of models, but {words}")


def _entries(page: Any) -> list[Any]:
    """The models on a page; some servers send the bare list."""
    entries = page if isinstance(page, list) else page["data"]
    if not isinstance(entries, list | None):
        raise TypeError("the models are no list")
    return entries or []


def _name(entry: Any) -> str:
    """What an entry is called, "" if that is nothing a request could name."""
    name = entry.get("id") if isinstance(entry, dict) else entry
    return name if isinstance(name, str) else ""


def _fetch(endpoint: Endpoint, cancel: CancelToken) -> bytes:
    from claw.providers.transport import Transport

    guard = SocketGuard(cancel, endpoint.resolver)
    pieces: list[bytes] = []
    size = 0
    try:
        with closing(Transport(endpoint)) as transport, transport.get(guard) as reply:
            for piece in reply.pieces:
                pieces.append(piece)
                size += len(piece)
                if size > LIST_BYTES or cancel.cancelled:
                    raise ProtocolError(f"{endpoint.url} sends more than a list of models")
    finally:
        guard.close()
    return b"".join(pieces)
