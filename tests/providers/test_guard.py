"""The socket guard: what it cuts, what it leaves alone, and that a cancel may come anywhere."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from claw.cancel import CancelToken
from claw.providers import guard as guard_module
from claw.providers.guard import SocketGuard, active_guard
from tests.support.everywhere import strike_at


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Our end and the server's end of one TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    theirs.settimeout(5)
    ours.settimeout(5)
    with ours, theirs:
        yield ours, theirs


def works(ours: socket.socket, theirs: socket.socket) -> bool:
    """Whether bytes get through in both directions."""
    try:
        ours.sendall(b"a")
        theirs.sendall(b"b")
        return (theirs.recv(1), ours.recv(1)) == (b"a", b"b")
    except OSError:
        return False


def test_a_cancel_cuts_what_is_watched(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    cancel = CancelToken()
    guard = SocketGuard(cancel)
    guard.watch(ours)
    cancel.cancel()
    assert theirs.recv(1) == b""
    assert ours.recv(1) == b""
    assert not guard.release()
    guard.close()


def test_a_cancel_before_the_watch_cuts_too(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    cancel = CancelToken()
    cancel.cancel()
    guard = SocketGuard(cancel)
    guard.watch(ours)
    with pytest.raises(ConnectionAbortedError):
        guard.check()
    assert theirs.recv(1) == b""
    guard.close()


def test_a_cut_survives_the_close_of_the_connection(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """With `Connection: close` the connection lets go of its socket while the body still comes."""
    ours, theirs = pair
    cancel = CancelToken()
    guard = SocketGuard(cancel)
    guard.watch(ours)
    body = ours.makefile("rb")
    ours.close()
    cancel.cancel()
    assert body.read() == b""
    assert theirs.recv(1) == b""
    body.close()
    guard.close()


def test_what_was_released_is_left_alone(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    cancel = CancelToken()
    guard = SocketGuard(cancel)
    guard.watch(ours)
    assert guard.release()
    cancel.cancel()
    assert works(ours, theirs)
    guard.close()


def test_a_closed_guard_is_not_called_any_more(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    cancel = CancelToken()
    guard = SocketGuard(cancel)
    guard.watch(ours)
    guard.close()
    cancel.cancel()
    assert works(ours, theirs)


def test_the_next_socket_takes_the_place_of_the_one_before(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = pair
    before = len(os.listdir("/proc/self/fd"))
    guard = SocketGuard(CancelToken())
    for _ in range(3):
        guard.watch(ours)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    guard.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert works(ours, theirs)


def test_the_active_guard_is_the_innermost() -> None:
    outer, inner = SocketGuard(CancelToken()), SocketGuard(CancelToken())
    with outer.active(1, 1):
        with inner.active(1, 1):
            assert active_guard() is inner
        assert active_guard() is outer


def test_a_cancel_at_any_bytecode_leaves_the_socket_cut_or_usable() -> None:
    """The garbage collector may cancel inside the guard's own sections, on the same thread: it
    never deadlocks, and a socket that was released as usable is whole."""
    number, striking = 0, True
    while striking:
        number += 1
        assert number < 2000
        with socket.create_server(("127.0.0.1", 0)) as listener:
            ours = socket.create_connection(listener.getsockname())
            theirs, _ = listener.accept()
        with ours, theirs:
            cancel = CancelToken()
            guard = SocketGuard(cancel)
            usable: list[bool] = []

            def body(
                guard: SocketGuard = guard,
                ours: socket.socket = ours,
                usable: list[bool] = usable,
            ) -> None:
                guard.watch(ours)
                usable.append(guard.release())

            striking = strike_at(number, [guard_module], cancel.cancel, body)
            guard.close()
            if usable == [True]:
                assert works(ours, theirs)
