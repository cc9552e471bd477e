"""WakePipe: from outside into a `select`."""

from __future__ import annotations

import os
import select
import threading

from claw import CancelToken
from claw.wake_pipe import WakePipe


def readable(pipe: WakePipe) -> bool:
    return bool(select.select([pipe], [], [], 0)[0])


def test_it_is_readable_after_a_wake_and_at_its_end() -> None:
    with WakePipe() as pipe:
        assert not readable(pipe)
        pipe.wake()
        assert readable(pipe)
        assert os.read(pipe.fileno(), 10) == b"!"
        assert not readable(pipe)
        pipe.hang_up()
        assert os.read(pipe.fileno(), 10) == b""


def test_a_cancel_wakes_it_also_one_that_came_before() -> None:
    token = CancelToken()
    with WakePipe(token) as pipe:
        assert not readable(pipe)
        token.cancel()
        assert readable(pipe)
    with WakePipe(token) as pipe:
        assert readable(pipe)


def test_what_comes_after_its_end_touches_no_other_file() -> None:
    token = CancelToken()
    pipe = WakePipe(token)
    pipe.hang_up()
    pipe.wake()
    pipe.close()
    pipe.close()
    others = os.pipe()  # with the very numbers of the closed one
    token.cancel()
    pipe.wake()
    pipe.hang_up()
    assert not select.select([others[0]], [], [], 0)[0]
    for descriptor in others:
        os.close(descriptor)


def test_another_thread_is_woken() -> None:
    pipe, seen = WakePipe(), []

    def wait() -> None:
        with pipe:
            select.select([pipe], [], [])
            seen.append(os.read(pipe.fileno(), 1))

    thread = threading.Thread(target=wait)
    thread.start()
    pipe.hang_up()
    thread.join(10)
    assert seen == [b""]
