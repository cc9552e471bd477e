"""Dialling: look up a name and connect, both of them cancellable and under one clock.

`getaddrinfo` knows neither a time limit nor a way to end it. So it runs in a thread of its own,
`claw-lookup`, and that thread is what gets left behind; an address needs no look-up and no
thread. `connect` is begun without blocking, and only then the guard is asked: a cancel before
that is seen here, a later one shuts a socket that is connecting, which wakes the wait.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from collections.abc import Sequence
from threading import Thread
from typing import Any

from claw.channel import Channel
from claw.providers.guard import AddressInfo, SocketGuard


def dial(host: str, port: int, *, guard: SocketGuard, timeout: float) -> socket.socket:
    """A socket connected to `host`, watched by `guard`, within `timeout` seconds in all.

    Each of several addresses gets its share of the time that is left, so that one dead address
    leaves some to the next. Raises OSError: gaierror, TimeoutError, ConnectionRefusedError, ...
    """
    timeout = guard.patience.within_the_deadline(timeout)
    end = time.monotonic() + timeout
    addresses = _look_up(host.strip("[]"), port, guard, timeout)
    failure = OSError(f"the name {host} has no address")
    for index, address in enumerate(addresses):
        share = max(0.0, end - time.monotonic()) / (len(addresses) - index)
        try:
            sock = _connected(address, guard, share)
        except OSError as error:
            guard.check()
            failure = error
            continue
        sock.settimeout(guard.patience.within_the_deadline(timeout))  # for a TLS handshake
        return sock
    raise failure


def _connected(info: AddressInfo, guard: SocketGuard, timeout: float) -> socket.socket:
    family, kind, protocol, _, address = info
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # 40 ms a request otherwise
        guard.watch(sock)
        _connect(sock, address, guard, timeout)
    except BaseException:
        sock.close()
        raise
    return sock


def _look_up(host: str, port: int, guard: SocketGuard, timeout: float) -> Sequence[AddressInfo]:
    if _is_address(host):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    answers: Channel[Sequence[AddressInfo] | OSError] = Channel(1, guard.cancel)

    def ask() -> None:
        try:
            answers.send(guard.resolver(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            answers.send(error)
        except UnicodeError:  # the idna codec: an empty or overlong label
            answers.send(socket.gaierror(socket.EAI_NONAME, "not a valid host name"))

    Thread(target=ask, name="claw-lookup", daemon=True).start()
    try:
        found = answers.recv_many(timeout)
    finally:
        answers.close()
    if not found:
        raise TimeoutError(errno.ETIMEDOUT, "the name look-up took too long")
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return True
    return False


def _connect(sock: socket.socket, address: Any, guard: SocketGuard, timeout: float) -> None:
    sock.setblocking(False)
    begun = sock.connect_ex(address)
    if begun not in (0, errno.EINPROGRESS):
        raise OSError(begun, os.strerror(begun))
    guard.check()
    if not _wait_until_writable(sock, timeout):
        raise TimeoutError(errno.ETIMEDOUT, "the connect was not answered")
    guard.check()
    outcome = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if outcome:
        raise OSError(outcome, os.strerror(outcome))


def _wait_until_writable(sock: socket.socket, timeout: float) -> bool:
    waiting = select.poll()  # not select(): a descriptor above 1023 is fine here
    waiting.register(sock, select.POLLOUT)
    return bool(waiting.poll(timeout * 1000))
