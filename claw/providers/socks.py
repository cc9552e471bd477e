"""Guarded connections through a SOCKS proxy; importing this needs PySocks.

PySocks gives its socket away only once it is connected, so a cancel during that step is answered
when the connect timeout has passed. The caller doesn't wait for it.
"""

from __future__ import annotations

import socket

from urllib3.contrib.socks import SOCKSConnection, SOCKSHTTPSConnection

from claw.providers.connections import GuardedConnection, GuardedPool, GuardedTLSPool


class GuardedSOCKSConnection(GuardedConnection, SOCKSConnection):
    def _new_conn(self) -> socket.socket:
        assert self.guard is not None
        sock: socket.socket = SOCKSConnection._new_conn(self)
        self.guard.watch(sock)
        return sock


class GuardedSOCKSTLSConnection(GuardedSOCKSConnection, SOCKSHTTPSConnection):
    pass


class GuardedSOCKSPool(GuardedPool):
    ConnectionCls = GuardedSOCKSConnection


class GuardedSOCKSTLSPool(GuardedTLSPool):
    ConnectionCls = GuardedSOCKSTLSConnection


POOLS = {"http": GuardedSOCKSPool, "https": GuardedSOCKSTLSPool}
