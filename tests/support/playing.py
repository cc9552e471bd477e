"""One case of tests/cases/stream, played over loopback for the time of a `with`."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.cases import load, play_case


@contextmanager
def playing(name: str) -> Iterator[str]:
    """The base URL of a server that answers every request with the case `name`."""
    with play_case().serve({name: load("stream")[name]}) as player:
        try:
            yield player.url(name)
        finally:
            player.closed.set()
            socket.create_connection(("127.0.0.1", player.port)).close()  # wakes its accept
            player.thread.join(5)
