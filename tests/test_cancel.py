"""CancelToken: first caller wins, callbacks run once, nobody sleeps through a cancel."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from claw import cancel
from claw.cancel import CancelToken
from claw.errors import Cancelled
from tests.support.everywhere import strike_at


def test_the_first_caller_wins() -> None:
    token = CancelToken()
    assert not token.cancelled
    assert token.reason is None
    assert token.cancel("interrupt") is True
    assert token.cancel("too late") is False
    assert token.cancelled
    assert token.reason == "interrupt"


def test_only_one_of_many_callers_wins() -> None:
    token, wins, start = CancelToken(), [], threading.Barrier(8)

    def race(number: int) -> None:
        start.wait()
        if token.cancel(str(number)):
            wins.append(str(number))

    threads = [threading.Thread(target=race, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wins == [token.reason]


def test_raise_if_cancelled_tells_the_reason() -> None:
    token = CancelToken()
    token.raise_if_cancelled()
    token.cancel("deadline")
    with pytest.raises(Cancelled) as caught:
        token.raise_if_cancelled()
    assert caught.value.reason == "deadline"


def test_callbacks_run_once_in_order_and_outside_any_lock() -> None:
    token, heard = CancelToken(), []
    token.on_cancel(lambda: heard.append("first"))
    # A callback may use the token freely: it would hang here if a lock were held.
    token.on_cancel(lambda: (token.cancel("again"), heard.append("second")))
    detach = token.on_cancel(lambda: heard.append("detached"))
    detach()
    token.cancel()
    assert heard == ["first", "second"]


def test_a_callback_registered_after_the_cancel_runs_at_once() -> None:
    token, heard = CancelToken(), []
    token.cancel()
    token.on_cancel(lambda: heard.append(threading.current_thread()))
    assert heard == [threading.current_thread()]


def test_a_failing_callback_does_not_keep_the_others(caplog: pytest.LogCaptureFixture) -> None:
    token, heard = CancelToken(), []
    token.on_cancel(lambda: 1 / 0)
    token.on_cancel(lambda: heard.append("still here"))
    with caplog.at_level(logging.ERROR):
        assert token.cancel()
    assert heard == ["still here"]
    assert "ZeroDivisionError" in caplog.text


def test_a_callback_that_is_broken_off_does_not_keep_the_rest_for_ever() -> None:
    token, heard = CancelToken(), []

    def broken_off() -> None:
        raise KeyboardInterrupt

    token.on_cancel(broken_off)
    token.on_cancel(lambda: heard.append("the socket"))
    with pytest.raises(KeyboardInterrupt):
        token.cancel("interrupt")
    assert token.cancel("again") is False
    assert heard == ["the socket"]


def test_a_deadline_that_never_comes_can_be_waited_under() -> None:
    token = CancelToken(timeout=float("inf"))
    assert token.wait(0.01) is False


def test_a_deadline_cancels_whoever_looks() -> None:
    token = CancelToken(timeout=0.02)
    assert token.remaining() is not None
    assert token.wait(5) is True
    assert token.cancelled
    assert token.reason == "deadline"
    assert token.remaining() == 0


def test_wait_ends_without_a_cancel_after_its_timeout() -> None:
    token = CancelToken()
    assert token.wait(0.01) is False
    assert not token.cancelled


def test_wait_is_woken_by_a_cancel_from_another_thread() -> None:
    token, result = CancelToken(), []
    thread = threading.Thread(target=lambda: result.append(token.wait(30)))
    thread.start()
    token.cancel()
    thread.join(5)
    assert result == [True]


def test_a_child_ends_with_its_parent_and_not_the_other_way_round() -> None:
    parent = CancelToken()
    with parent.child() as one, parent.child() as two:
        one.cancel("just me")
        assert not parent.cancelled
        parent.cancel("all of us")
        assert (one.reason, two.reason) == ("just me", "all of us")


def test_a_child_of_a_cancelled_parent_is_cancelled() -> None:
    parent = CancelToken()
    parent.cancel("interrupt")
    with parent.child() as child:
        assert child.reason == "interrupt"


def test_a_child_that_was_left_is_not_cancelled_any_more() -> None:
    parent = CancelToken()
    with parent.child() as child:
        pass
    parent.cancel()
    assert not child.cancelled


def test_a_child_has_the_nearer_deadline() -> None:
    parent = CancelToken(timeout=100)
    assert parent.child().deadline == parent.deadline
    near = parent.child(timeout=1).remaining()
    far = parent.child(timeout=1000).remaining()
    assert near is not None
    assert far is not None
    assert near <= 1
    assert far <= 100


def test_a_cancel_inside_wait_is_never_slept_through() -> None:
    """At whichever bytecode of `wait` the garbage collector cancels, the waiter comes back."""
    number = 0
    struck = True
    while struck:
        number += 1
        token = CancelToken()
        started = time.monotonic()
        ended = threading.Timer(0.001, token.cancel)  # ends the waits that nothing struck
        ended.start()
        struck = strike_at(number, [cancel], token.cancel, lambda token=token: token.wait(60))
        ended.join()
        assert token.cancelled
        assert time.monotonic() - started < 10
    assert number > 20


def test_a_cancel_inside_cancel_still_has_one_winner() -> None:
    number, struck = 0, True
    while struck:
        number += 1
        token, heard, wins = CancelToken(), [], []
        token.on_cancel(lambda heard=heard: heard.append("called"))
        again = lambda token=token, wins=wins: wins.append(token.cancel("inner"))  # noqa: E731
        struck = strike_at(number, [cancel], again, lambda w=wins, t=token: w.append(t.cancel()))
        assert sorted(wins) == ([False, True] if struck else [True])
        assert heard == ["called"]
    assert number > 10
