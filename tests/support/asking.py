"""A provider asked on a thread of its own, as the engine's producer does it."""

from __future__ import annotations

import threading
import time
from typing import Any

from claw.cancel import CancelToken
from claw.events import StreamEvent
from claw.messages import Message
from claw.providers.base import ModelRequest, StreamingProvider


def ask_for(words: str, **more: Any) -> ModelRequest:
    """A request with one question."""
    return ModelRequest([Message.user(words)], **more)


def ask(
    provider: StreamingProvider, words: str = "Hi", cancel: CancelToken | None = None, **more: Any
) -> list[StreamEvent]:
    """All events of one request, on this thread."""
    return list(provider.stream(ask_for(words, **more), cancel or CancelToken()))


class Asking(threading.Thread):
    """One request on a thread of its own, which iterates to the end unless it is told to pause.

    pause_after: stop taking events after so many, until `go_on` is set.
    """

    def __init__(
        self, provider: StreamingProvider, words: str = "Hi", pause_after: int | None = None
    ) -> None:
        super().__init__(name="test-producer", daemon=True)
        self.cancel = CancelToken()
        self.events: list[StreamEvent] = []
        self.first_event = threading.Event()
        self.paused = threading.Event()
        self.go_on = threading.Event()
        self.failure: BaseException | None = None
        self.ended_at = 0.0
        self._provider = provider
        self._request = ask_for(words)
        self._pause_after = pause_after
        self.start()

    def run(self) -> None:
        try:
            for event in self._provider.stream(self._request, self.cancel):
                self.events.append(event)
                self.first_event.set()
                if len(self.events) == self._pause_after:
                    self.paused.set()
                    self.go_on.wait(10)
        except BaseException as error:
            self.failure = error
        self.ended_at = time.monotonic()

    def cancel_now(self) -> float:
        """Cancels, and returns the monotonic time right before."""
        now = time.monotonic()
        self.cancel.cancel()
        return now

    def wait_for_end(self, timeout: float = 5) -> None:
        self.join(timeout)
        assert not self.is_alive(), "the request didn't end"
        assert self.failure is None, repr(self.failure)
