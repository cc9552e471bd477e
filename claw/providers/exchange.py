"""One request and the reading of its reply, under the clocks of the endpoint and the token."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from claw.cancel import CancelToken
from claw.errors import Cancelled, ProviderError, ReadTimeout, StreamStalled
from claw.events import Completed, StreamEvent
from claw.messages import Message
from claw.providers.base import OnPartialUsage
from claw.providers.endpoint import Endpoint
from claw.providers.guard import SocketGuard
from claw.providers.masking import masked, redacted
from claw.providers.reply import ReplyReader
from claw.providers.server_errors import one_line
from claw.providers.tap import Tap
from claw.providers.transport import Reply, Transport

SETTLE = 2.0  # seconds after the finish reason for what still belongs to the reply
NAME_SHOWN = 200  # characters of a model's name, or of a finish reason
LINGER = 0.05  # seconds after the end for the rest of the body, so that the connection lives on


class HTTPExchange:
    """Sends one request when it is iterated, and gives the reply's events.

    Raises ProviderError where there is no reply (the secrets masked), ConfigError where there
    can't be one. Ends without Completed only once `cancel` fired. For one thread.
    on_partial_usage, tap: see ModelRequest; the tap was told of the request.

    began: something of the reply was told, so the request must not be sent again. What only
        announces a reply (a role, the cost of the prompt, a block that is still empty) shows
        nothing, and is no part of it.
    """

    def __init__(
        self,
        transport: Transport,
        endpoint: Endpoint,
        body: bytes,
        reader: ReplyReader,
        cancel: CancelToken,
        on_partial_usage: OnPartialUsage | None = None,
        tap: Tap | None = None,
    ) -> None:
        self._transport = transport
        self._endpoint = endpoint
        self._body = body
        self._reader = reader
        self._cancel = cancel
        self._on_partial_usage = on_partial_usage
        self._tap = tap
        self.began = False

    def __iter__(self) -> Iterator[StreamEvent]:
        guard = SocketGuard(self._cancel, self._endpoint.resolver)
        try:
            with self._transport.post(self._body, guard, self._tap) as reply:
                yield from self._events(reply)
        except Cancelled:
            return
        except ProviderError as error:
            if not self._cancel.cancelled:  # else the error is only what the cancel looked like
                self._tell_end(error)
                raise masked(error, self._endpoint.secrets, self._endpoint.key) from error.__cause__
        finally:
            guard.close()
            usage = self._reader.usage
            if self._on_partial_usage is not None and usage is not None:
                self._on_partial_usage(usage)

    def _events(self, reply: Reply) -> Iterator[StreamEvent]:
        reader, cancel, clocks = self._reader, self._cancel, self._endpoint.clocks
        progress_at, belonging = time.monotonic(), reader.belonging
        reply.patience.allow(clocks.idle, clocks.progress)
        broken: ProviderError | None = None
        try:
            for data in reply.pieces:
                if cancel.cancelled:
                    return
                if deltas := reader.feed(data):
                    self.began = True
                    yield from deltas
                if reader.ended:
                    break
                now = time.monotonic()
                if reader.belonging != belonging:
                    progress_at, belonging = now, reader.belonging
                end = progress_at + (SETTLE if reader.settling else clocks.progress)
                if now >= end:
                    broken = self._silence(now - progress_at)
                    break
                reply.patience.end = end
        except ReadTimeout:
            broken = self._silence(time.monotonic() - progress_at)
        except ProviderError as error:
            broken = error
        if cancel.cancelled:
            return
        self._tell_end(broken)
        message = reader.finish(broken)
        self._on_partial_usage = None  # its usage is the message's
        yield Completed(self._without_key(message))
        _read_to_the_end(reply)

    def _tell_end(self, error: ProviderError | None) -> None:
        if self._tap is not None:
            self._tap.on_end(error)

    def _without_key(self, message: Message) -> Message:
        """Two names in it are the server's own, and may be shown."""
        word, model = map(self._shown, (message.stop_word, message.model))
        if (word, model) == (message.stop_word, message.model):
            return message
        return replace(message, stop_word=word, model=model)

    def _shown(self, name: str) -> str:
        whole = redacted(name, self._endpoint.secrets, self._endpoint.key)
        return one_line(whole, NAME_SHOWN)

    def _silence(self, since_progress: float) -> ProviderError:
        """The error for a reply that stopped coming; after a finish reason it doesn't count."""
        host, clocks = self._endpoint.host, self._endpoint.clocks
        if not self._reader.began:
            return ReadTimeout(
                f"{host} took the request, but no reply began within {since_progress:.0f} s: is it "
                "still loading the model, or overloaded?"
            )
        if since_progress >= clocks.progress:
            return StreamStalled(
                f"for {since_progress:.0f} s {host} sent signs of life, but no reply. Ask again"
            )
        return StreamStalled(
            f"the reply of {host} stopped: nothing came for {clocks.idle:g} s. Ask again"
        )


def _read_to_the_end(reply: Reply) -> None:
    """A body that was read to its end leaves a connection for the next request."""
    reply.patience.allow(LINGER, LINGER)
    try:
        for _ in reply.pieces:
            pass
    except ProviderError:
        pass  # then there is no connection to keep
