"""requests' adapter, urllib3's pools and connections, with a guard on each connection.

A connection belongs to the guard of the request that took it out of the pool, until it goes back:
`_get_conn` and `_put_conn` are those two moments, whoever causes them. In between, `_new_conn`
shows the guard the socket before it connects, and `request` the socket of a connection that was
kept alive. This file is all that extends urllib3; chunks.py extends http.client below it.
"""

from __future__ import annotations

import socket
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from claw.providers.chunks import PromptResponse
from claw.providers.dial import dial
from claw.providers.guard import SocketGuard, active_guard
from claw.providers.patience import PatientSocket

POOL_SIZE = 256
SEND_SIZE = 16384  # bytes, a TLS record


class GuardedConnection(HTTPConnection):
    """A connection that shows its sockets to the guard; it has one while it is out of the pool.

    answer: http.client's response to the newest request, on which that of urllib3 is built.
    """

    guard: SocketGuard | None = None
    answer: PromptResponse | None = None

    def response_class(  # type: ignore[override]
        self, sock: socket.socket, *args: Any, **options: Any
    ) -> PromptResponse:
        """http.client's hook: what is called with the socket once there may be an answer, be it
        that of a proxy to CONNECT."""
        assert self.guard is not None
        patient: Any = PatientSocket(sock, self.guard.patience)
        self.answer = PromptResponse(patient, *args, **options)
        return self.answer

    def _new_conn(self) -> socket.socket:
        assert self.guard is not None
        timeout = self.timeout or socket.getdefaulttimeout() or 10.0
        try:
            sock = dial(self._dns_host, self.port, guard=self.guard, timeout=timeout)
        except OSError as error:
            raise NewConnectionError(self, str(error)) from error
        self.guard.patience.allow(timeout, timeout)  # for a proxy's answer to CONNECT
        return sock

    def request(self, *args: Any, **options: Any) -> None:
        if self.guard is not None and self.sock is not None:
            self.guard.watch(self.sock)
            self.guard.talk_on(self.sock)
        super().request(*args, **options)

    def send(self, data: Any) -> None:
        """In pieces, so that the clocks are looked at in between: of what is sent at once over
        TLS, each record has the whole of the socket's timeout."""
        if self.guard is None or self.sock is None or not isinstance(data, bytes):
            super().send(data)
            return
        for start in range(0, len(data), SEND_SIZE):
            self.sock.settimeout(self.guard.patience.left())
            super().send(data[start : start + SEND_SIZE])

    def endheaders(self, *args: Any, **options: Any) -> None:
        """Connects if need be; the body follows, and the connect timeout isn't meant for that."""
        super().endheaders(*args, **options)
        if self.guard is not None:
            self.guard.talk_on(self.sock)


class GuardedTLSConnection(GuardedConnection, HTTPSConnection):
    """The same for https, also through a proxy's tunnel."""


class GuardedPool(HTTPConnectionPool):
    """A pool whose connections change their owner when they leave and when they come back."""

    ConnectionCls: Any = GuardedConnection

    def _get_conn(self, timeout: float | None = None) -> Any:
        connection: Any = super()._get_conn(timeout)
        connection.guard = active_guard()
        return connection

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            guard, conn.guard = conn.guard, None
            if guard is not None and not guard.release():
                conn.close()
        super()._put_conn(conn)


class GuardedTLSPool(GuardedPool, HTTPSConnectionPool):
    ConnectionCls: Any = GuardedTLSConnection


POOLS = {"http": GuardedPool, "https": GuardedTLSPool}


class GuardedAdapter(HTTPAdapter):
    """requests' adapter over guarded pools, straight or through a proxy."""

    def __init__(self) -> None:
        super().__init__(pool_maxsize=POOL_SIZE)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def close(self) -> None:
        """Closes idle connections now; urllib3 waits until its pools are collected."""
        for manager in (self.poolmanager, *self.proxy_manager.values()):
            for key in manager.pools.keys():  # noqa: SIM118  # no Mapping, it can't be iterated
                if (pool := manager.pools.get(key)) is not None:
                    pool.close()
        super().close()

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        if proxy.lower().startswith("socks"):
            from claw.providers.socks import POOLS as SOCKS_POOLS  # needs PySocks

            manager.pool_classes_by_scheme = SOCKS_POOLS
        else:
            manager.pool_classes_by_scheme = POOLS
        return manager
