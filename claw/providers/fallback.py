"""FallbackProvider: when a server can't answer, the next one is asked."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import pairwise

from claw.cancel import CancelToken
from claw.errors import ClawError, ProviderError
from claw.events import Failed, Retrying, StreamEvent
from claw.providers.advice import without_advice
from claw.providers.base import ModelRequest, StreamingProvider
from claw.values import frozen


@frozen
class Choice:
    """A model that may be asked. `name` is what the user calls it: "deepseek:deepseek-chat"."""

    name: str
    provider: StreamingProvider


class FallbackProvider:
    """A StreamingProvider that asks its choices in order, each with its own retries.

    A request goes to the next choice when it failed for a reason that may pass, before anything
    of a reply was told; that is told as Retrying. What the next one would refuse as well (a wrong
    request) and what only the user can mend (a wrong key) fails at once. Each request begins with
    the first choice again: nothing is remembered, so any number of runs may use it at once.
    """

    def __init__(self, *choices: Choice) -> None:
        self.choices = choices

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no tool may see: the keys of all choices."""
        return tuple(
            secret for each in self.choices for secret in getattr(each.provider, "secrets", ())
        )

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        """The events of the first choice that answers; Failed is that of the last one asked."""
        for choice, following in pairwise([*self.choices, None]):
            assert choice is not None
            events = _events(choice.provider, request, cancel)
            if following is None:
                yield from events
                return
            with closing(events):
                tries, failure = yield from _until_it_fails(events)
            if failure is None or cancel.cancelled:
                return
            yield Retrying(tries, 0.0, without_advice(failure), f"with {following.name}")

    def close(self) -> None:
        """Closes the choices' idle connections."""
        for each in self.choices:
            if close := getattr(each.provider, "close", None):
                close()


def _events(
    provider: StreamingProvider, request: ModelRequest, cancel: CancelToken
) -> Generator[StreamEvent, None, None]:
    """What the provider raises counts as Failed, as the engine has it."""
    try:
        yield from provider.stream(request, cancel)
    except ProviderError as error:
        yield Failed(error)


def _until_it_fails(
    events: Iterator[StreamEvent],
) -> Generator[StreamEvent, None, tuple[int, ClawError | None]]:
    """Passes the events on. Returns how often it was tried, and the failure that isn't passed on:
    one after which another server may answer. None: there is an answer, or it failed for good."""
    tries, began = 1, False
    for event in events:
        if isinstance(event, Failed) and not began and _may_pass(event.error):
            return tries, event.error
        if isinstance(event, Retrying):
            tries = event.attempt + 1
        else:
            began = True
        yield event
    return tries, None


def _may_pass(error: ClawError) -> bool:
    return isinstance(error, ProviderError) and error.retryable
