"""Where a provider sends its requests, checked when it is made: URL, key, headers, clocks.

What is wrong here is the user's to mend, so each check is a ConfigError of one line. Keys and
header values are never part of it.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from claw.errors import ConfigError
from claw.providers.guard import Resolver
from claw.values import frozen


@frozen
class Clocks:
    """Seconds. connect: look-up, connect, TLS handshake each. idle: without a single byte.
    progress: without anything that belongs to the reply, though pings come."""

    connect: float = 10.0
    idle: float = 300.0
    progress: float = 900.0


@frozen
class Endpoint:
    """One address with all that a request needs beside its body.

    secrets: what must never be shown. key: the key, however short. proxies: as requests takes
    them, instead of the environment's. verify: True, False, or the path of a CA bundle. resolver:
    looks names up, in the way of `socket.getaddrinfo`.
    """

    url: str
    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    key: str | None = field(default=None, repr=False)
    clocks: Clocks = Clocks()
    verify: bool | str = True
    proxies: Mapping[str, str] | None = field(default=None, repr=False)
    resolver: Resolver = socket.getaddrinfo

    @property
    def host(self) -> str:
        """Host and port, as a person reads them."""
        return urlsplit(self.url).netloc


def checked_base_url(base_url: str) -> str:
    """`base_url` without a slash at its end, or ConfigError."""
    try:
        parts = urlsplit(base_url.strip())
        parts.port  # noqa: B018  # raises ValueError where it isn't a number
    except ValueError as error:
        raise ConfigError(f"the base URL isn't one ({error}): {base_url!r}") from None
    if parts.username or parts.password:
        raise ConfigError("the base URL holds a user name or a password: send it as a header")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"the base URL must look like https://host/v1 or http://127.0.0.1:8080/v1: {base_url!r}"
        )
    if parts.query or parts.fragment:
        start = parts._replace(query="", fragment="").geturl()  # behind the ? a key may stand
        raise ConfigError(f"the base URL can't have a ? or a # behind it: {start!r}")
    return base_url.strip().rstrip("/")


def checked_clocks(clocks: Clocks) -> Clocks:
    """`clocks` if each gives some time, or ConfigError."""
    if min(clocks.connect, clocks.idle, clocks.progress) <= 0:
        raise ConfigError("connect_timeout, idle_timeout and progress_timeout must be above 0 s")
    return clocks


def checked_key(key: str | None) -> str | None:
    """`key` if it can stand in a header, or ConfigError. An empty key is none."""
    if key is not None and not _fits_a_header(key):
        raise ConfigError(
            "the API key holds a line break, a blank or a character that no key has: "
            "copy it again, without anything around it"
        )
    return key or None


def checked_headers(headers: Mapping[str, str] | None) -> dict[str, str]:
    """Extra headers if HTTP can carry them, or ConfigError."""
    for name, value in (headers or {}).items():
        if not name or not _fits_a_header(name) or not _fits_a_header(value.replace(" ", "")):
            raise ConfigError(f"the header {name!r} holds a character that HTTP can't carry")
    return dict(headers or {})


def _fits_a_header(text: str) -> bool:
    return all("!" <= char <= "~" for char in text)
