"""When a request is sent again: only before anything of the reply was shown, and not for ever."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Protocol

from claw.cancel import CancelToken
from claw.errors import ClawError, ProviderError
from claw.events import Failed, Retrying, StreamEvent
from claw.providers.advice import without_advice
from claw.values import frozen


class Exchange(Protocol):
    """One request and its reply. `began`: something of the reply has come."""

    @property
    def began(self) -> bool: ...
    def __iter__(self) -> Iterator[StreamEvent]: ...


@frozen
class RetryPolicy:
    """Exponential backoff with full jitter: a wait is drawn between 0 and its upper bound.

    retries: how often at most. first, longest: seconds, the bounds of the first and of any wait.
    budget: seconds from the first request on; no wait may end later. A wait that the server asks
    for counts instead of the drawn one.
    """

    retries: int = 2
    first: float = 0.5
    longest: float = 8.0
    budget: float = 120.0

    def wait_after(self, error: ProviderError, *, failures: int, spent: float) -> float | None:
        """Seconds to wait after the failure with this number; None: give up."""
        if not error.retryable or failures > self.retries:
            return None
        bound = min(self.longest, self.first * 2 ** (failures - 1))
        wait = random.uniform(0, bound)
        if error.retry_after is not None:
            wait = error.retry_after + random.uniform(0, self.first)  # not all clients at once
        return wait if spent + wait <= self.budget else None


def with_retries(
    begin: Callable[[], Exchange],
    policy: RetryPolicy,
    cancel: CancelToken,
    mend: Callable[[ProviderError], str] = lambda error: "",
) -> Iterator[StreamEvent]:
    """The events of the first exchange that works; Retrying before each wait; Failed at the end.

    mend: changes what `begin` will send so that this error won't come again, and says how; then
    there is no wait, and it counts as no failure. "" where it can't. Retrying tells an error
    without the advice: claw is doing something about it.
    Ends without Completed or Failed only once `cancel` fired, also in the middle of a wait.
    """
    start = time.monotonic()
    failures = 0
    for attempt in count(1):
        exchange = begin()
        try:
            yield from exchange
            return
        except ProviderError as error:
            # Without its traceback, whose frames hold the request, the reply and the error itself.
            failure = error.with_traceback(None)
        if cancel.cancelled:
            return
        if not exchange.began and (remedy := mend(failure)):
            yield Retrying(attempt, 0.0, without_advice(failure), remedy)
            continue
        failures += 1
        spent = time.monotonic() - start
        wait = None
        if not exchange.began:
            wait = policy.wait_after(failure, failures=failures, spent=spent)
        if wait is None:
            yield Failed(with_reason(failure, policy))
            return
        yield Retrying(attempt, wait, without_advice(failure))
        if cancel.wait(wait):
            return


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: `retry-after-ms`, or `Retry-After` as number or date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        date = parsedate_to_datetime(value)
        if date.tzinfo is None:  # RFC 9110 5.6.7: an HTTP-date is in UTC
            date = date.replace(tzinfo=UTC)
        return max(0.0, (date - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):  # no date, or one that no calendar has
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def with_reason(error: ProviderError, policy: RetryPolicy) -> ClawError:
    """The error that it ends with; it says so where it was the server's own wish that kept us from
    trying again."""
    if not error.retryable or error.retry_after is None or error.retry_after <= policy.budget:
        return error
    data = error.to_dict()
    words = f"{error.message} It asks to wait {error.retry_after:.0f} s: try again after that."
    return ClawError.from_dict({**data, "message": words})
