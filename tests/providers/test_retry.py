"""Retries: when, how long, how often, and what is told."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import formatdate
from time import time

import pytest

from claw.cancel import CancelToken
from claw.errors import ConnectionLost, ProtocolError, ProviderError, RateLimitError
from claw.events import Completed, Failed, Retrying, StreamEvent, TextDelta
from claw.messages import Message
from claw.providers.retry import RetryPolicy, retry_after, with_retries

DONE = Completed(Message.assistant())
QUICK = RetryPolicy(retries=2, first=0.001, longest=0.002)


class Scripted:
    """An exchange that gives these events and then raises, if an error is given."""

    def __init__(self, *events: StreamEvent, error: ProviderError | None = None) -> None:
        self.began = bool(events)
        self._events = events
        self._error = error

    def __iter__(self) -> Iterator[StreamEvent]:
        yield from self._events
        if self._error is not None:
            raise self._error


def played(
    *exchanges: Scripted, policy: RetryPolicy = QUICK, cancel: CancelToken | None = None
) -> list[StreamEvent]:
    left = list(exchanges)
    events = list(with_retries(lambda: left.pop(0), policy, cancel or CancelToken()))
    assert left == []
    return events


def limited(seconds: float | None) -> RateLimitError:
    return RateLimitError("slow down.", status=429, retryable=True, retry_after=seconds)


LOST = ConnectionLost("lost")


def test_the_exchange_that_works_is_given_and_the_failures_are_told() -> None:
    events = played(Scripted(error=LOST), Scripted(error=LOST), Scripted(TextDelta("Hi"), DONE))
    assert [(e.attempt, e.error) for e in events if isinstance(e, Retrying)] == [
        (1, LOST),
        (2, LOST),
    ]
    assert events[2:] == [TextDelta("Hi"), DONE]


def test_it_gives_up_after_so_many() -> None:
    events = played(*[Scripted(error=LOST)] * 3)
    assert [type(event) for event in events] == [Retrying, Retrying, Failed]
    assert events[-1] == Failed(LOST)


def test_what_has_begun_is_never_sent_again() -> None:
    assert played(Scripted(TextDelta("Hi"), error=LOST)) == [TextDelta("Hi"), Failed(LOST)]


def test_what_would_fail_again_is_not_sent_again() -> None:
    error = ProtocolError("nonsense")
    assert played(Scripted(error=error)) == [Failed(error)]


def test_a_cancelled_run_ends_without_a_word() -> None:
    cancel = CancelToken()
    cancel.cancel()
    assert played(Scripted(error=LOST), cancel=cancel) == []


def test_waits_are_drawn_below_a_bound_that_doubles() -> None:
    policy = RetryPolicy(retries=10, first=0.5, longest=4)
    for failures, bound in ((1, 0.5), (2, 1), (3, 2), (4, 4), (5, 4)):
        waits = [policy.wait_after(LOST, failures=failures, spent=0) or 0 for _ in range(200)]
        assert min(waits) >= 0
        assert bound / 2 < max(waits) <= bound
        assert len(set(waits)) > 100


def test_the_server_s_wish_counts() -> None:
    waits = [RetryPolicy().wait_after(limited(7), failures=1, spent=0) or 0 for _ in range(50)]
    assert min(waits) >= 7
    assert max(waits) <= 7.5


def test_no_wait_ends_after_the_budget() -> None:
    policy = RetryPolicy(budget=10)
    assert policy.wait_after(limited(9), failures=1, spent=0) is not None
    assert policy.wait_after(limited(9), failures=1, spent=2) is None
    assert policy.wait_after(limited(11), failures=1, spent=0) is None


def test_a_wish_that_is_too_long_is_told_in_words() -> None:
    (event,) = played(Scripted(error=limited(3600)))
    assert isinstance(event, Failed)
    assert isinstance(event.error, RateLimitError)
    assert "3600 s" in event.error.message
    assert event.error.status == 429


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "Retry-After": "7"}, 0.25),
        ({"Retry-After": formatdate(time() - 100, usegmt=True)}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_as_a_date() -> None:
    found = retry_after({"Retry-After": formatdate(time() + 20, usegmt=True)})
    assert found is not None
    assert 17 < found <= 20
