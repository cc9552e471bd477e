"""Tap: what sees the bytes of an exchange as they go over the wire. Tapes are recorded with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from claw.errors import ClawError
from claw.providers.quirks import Quirks
from claw.values import frozen


@frozen
class Sent:
    """A request as it is sent, and what its reply is read with. dialect: "openai", "anthropic", or
    that of a dialect of one's own."""

    dialect: str
    model: str
    url: str
    body: bytes
    quirks: Quirks
    max_reply_bytes: int


class Tap(Protocol):
    """Sees all that goes over the wire for one ModelRequest.

    Contract: called on the thread that the provider is iterated on; returns at once and doesn't
    raise. Each time that the request is sent, `on_request` comes first, then `on_answer` if there
    is an answer, `on_piece` with each piece of its body as it was read, unpacked, and `on_end`
    with what the connection failed with, None where it didn't. A cancelled exchange has no end;
    what comes after the first `on_end` belongs to no reply.
    """

    def on_request(self, sent: Sent) -> None: ...

    def on_answer(self, status: int, headers: Mapping[str, str]) -> None: ...

    def on_piece(self, data: bytes) -> None: ...

    def on_end(self, error: ClawError | None) -> None: ...
