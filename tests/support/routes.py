"""The ways a request gets to a server: plain, TLS, on a kept connection, through a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claw.providers.openai_chat import OpenAIChat
from tests.support.asking import ask
from tests.support.server import Behaviour, Server, reply, serve


@dataclass(frozen=True)
class Route:
    """How the request gets to the server."""

    name: str
    tls: bool = False
    proxy: bool = False
    reused: bool = False

    @contextmanager
    def to(self, *behaviours: Behaviour, **options: Any) -> Iterator[tuple[OpenAIChat, Server]]:
        """A provider and the server at the end of this route, which plays `behaviours`."""
        if self.reused:
            behaviours = (reply("first"), *behaviours)
        with ExitStack() as stack:
            server = stack.enter_context(
                serve(*behaviours, tls=self.tls, proxy=self.proxy, **options)
            )
            provider = stack.enter_context(closing(self.provider(server)))
            if self.reused:
                ask(provider)
                server.wait_request()
                server.wait_connection()
            yield provider, server

    def provider(self, server: Server) -> OpenAIChat:
        origin = "https://model.test/v1" if self.tls else "http://model.test/v1"
        return OpenAIChat(
            "m",
            base_url=origin if self.proxy else server.url,
            verify=server.ca_file or True,
            proxies={"all": server.proxy_url} if self.proxy else {},
        )


ROUTES = [
    Route("plain"),
    Route("tls", tls=True),
    Route("reused", reused=True),
    Route("reused-tls", tls=True, reused=True),
    Route("proxy", proxy=True),
    Route("tunnel", tls=True, proxy=True),
]


def connecting_to(port: int) -> int:
    """How many sockets of this machine wait for `port` to answer their connect."""
    syn_sent = f":{port:04X} 02 "
    return sum(syn_sent in line for line in Path("/proc/net/tcp").read_text().splitlines())
