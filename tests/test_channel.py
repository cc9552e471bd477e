"""Channel: bounded, closes, can be cancelled at any instant; nothing is lost or doubled."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw import cancel, channel
from claw.cancel import CancelToken
from claw.channel import Channel
from claw.errors import Cancelled
from tests.support.everywhere import LOOKS_FOR_SIGNALS, strike_at


def in_thread(target: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_what_is_sent_is_received_in_order() -> None:
    numbers: Channel[int] = Channel(16, CancelToken())
    producer = in_thread(lambda: ([numbers.send(n) for n in range(1000)], numbers.close()))
    assert list(numbers) == list(range(1000))
    producer.join()


@given(st.lists(st.lists(st.integers(), max_size=40), max_size=10), st.integers(1, 20))
def test_batches_of_any_size_pass_a_channel_of_any_size(
    batches: list[list[int]], size: int
) -> None:
    numbers: Channel[int] = Channel(size, CancelToken())
    producer = in_thread(lambda: ([numbers.send_many(b) for b in batches], numbers.close()))
    received: list[int] = []
    while batch := numbers.recv_many():
        assert len(batch) <= size
        received += batch
    producer.join()
    assert received == [number for batch in batches for number in batch]


def test_a_full_channel_holds_the_sender_back() -> None:
    numbers: Channel[int] = Channel(2, CancelToken())
    sent = threading.Semaphore(0)

    def send_three() -> None:
        for number in range(3):
            numbers.send(number)
            sent.release()

    producer = in_thread(send_three)
    assert sent.acquire(timeout=5)
    assert sent.acquire(timeout=5)
    assert not sent.acquire(timeout=0.02)
    assert numbers.recv() == (0, True)
    assert sent.acquire(timeout=5)
    producer.join()


def test_close_lets_the_rest_be_received_and_ends_the_iteration() -> None:
    words: Channel[str] = Channel(4, CancelToken())
    words.send("last")
    words.close()
    words.close()
    assert words.send("too late") is False
    assert words.send_many(["too", "late"]) is False
    assert list(words) == ["last"]
    assert words.recv() == (None, False)
    assert words.recv_many() == []


def test_cancel_beats_what_is_buffered() -> None:
    token = CancelToken()
    words: Channel[str] = Channel(4, token)
    words.send("never seen")
    token.cancel("interrupt")
    with pytest.raises(Cancelled) as caught:
        words.recv()
    assert caught.value.reason == "interrupt"
    with pytest.raises(Cancelled):
        words.recv_many()
    assert words.send("neither") is False


def test_recv_many_gives_up_after_its_timeout_and_is_still_open() -> None:
    words: Channel[str] = Channel(4, CancelToken())
    assert words.recv_many(timeout=0.01) is None
    words.close()
    assert words.recv_many(timeout=0.01) == []


def test_a_deadline_ends_a_receiver_that_waits() -> None:
    words: Channel[str] = Channel(4, CancelToken(timeout=0.02))
    with pytest.raises(Cancelled) as caught:
        words.recv()
    assert caught.value.reason == "deadline"


def test_a_deadline_ends_a_sender_that_waits() -> None:
    words: Channel[str] = Channel(1, CancelToken(timeout=0.02))
    assert words.send("fits") is True
    assert words.send("does not") is False


def test_many_senders_and_receivers_lose_and_double_nothing() -> None:
    numbers: Channel[int] = Channel(3, CancelToken())
    received: list[int] = []
    receivers = [in_thread(lambda: received.extend(numbers)) for _ in range(4)]
    senders = [
        in_thread(lambda start=start: [numbers.send(n) for n in range(start, start + 500)])
        for start in range(0, 2000, 500)
    ]
    for thread in senders:
        thread.join()
    numbers.close()
    for thread in receivers:
        thread.join()
    assert sorted(received) == list(range(2000))


def receive_for_ever(numbers: Channel[int]) -> None:
    while True:
        numbers.recv_many()


Waiter = Callable[[Channel[int]], object]


def receive(numbers: Channel[int]) -> None:
    with pytest.raises(Cancelled):
        numbers.recv()


def receive_many(numbers: Channel[int]) -> None:
    with pytest.raises(Cancelled):
        numbers.recv_many()


def send_to_full(numbers: Channel[int]) -> None:
    assert numbers.send_many([1, 2]) is False


def send_one_to_full(numbers: Channel[int]) -> None:
    numbers.send(1)
    assert numbers.send(2) is False


@pytest.mark.parametrize("wait", [receive, receive_many, send_to_full, send_one_to_full])
def test_a_cancel_inside_a_wait_is_never_slept_through(wait: Waiter) -> None:
    """At whichever bytecode the garbage collector cancels, on the waiting thread itself."""
    number, struck = 0, True
    while struck:
        number += 1
        token = CancelToken()
        numbers: Channel[int] = Channel(1, token)
        rescue = threading.Timer(0.001, token.cancel)  # ends the waits that nothing struck
        rescue.start()
        started = time.monotonic()
        struck = strike_at(number, [cancel, channel], token.cancel, lambda n=numbers: wait(n))
        rescue.join()
        assert time.monotonic() - started < 10
        assert numbers.send(3) is False
    assert number > 20


def test_an_interrupt_inside_a_wait_leaves_the_channel_usable() -> None:
    """A KeyboardInterrupt at any bytecode of a section: no lock stays held, nothing is stuck."""
    number, struck = 0, True
    while struck:
        number += 1
        numbers: Channel[int] = Channel(4, CancelToken())
        numbers.send(1)

        def interrupt() -> None:
            raise KeyboardInterrupt

        def body(numbers: Channel[int] = numbers) -> None:
            numbers.recv_many()

        struck = True
        with contextlib.suppress(KeyboardInterrupt):
            struck = strike_at(number, [channel], interrupt, body, after=LOOKS_FOR_SIGNALS)
        done = threading.Event()
        other = in_thread(lambda n=numbers, d=done: (n.send(2), n.recv_many(), d.set()))
        assert done.wait(5)
        other.join()
    assert number > 3


@pytest.mark.stress
def test_random_cancels_never_leave_anyone_stuck() -> None:
    dice = random.Random(7)
    for _ in range(6000):
        token = CancelToken()
        numbers: Channel[int] = Channel(16, token)

        def produce(numbers: Channel[int] = numbers) -> None:
            while numbers.send_many([1, 2, 3]):
                pass

        producer = in_thread(produce)
        canceller = threading.Timer(dice.random() / 2000, token.cancel)
        canceller.start()
        with pytest.raises(Cancelled):
            receive_for_ever(numbers)
        producer.join(5)
        canceller.join(5)
        assert not producer.is_alive()
