"""One request and the reading of its reply, under the clocks of the endpoint and the token."""

from __future__ import annotations

import time
from collections.abc import Iterator

from claw.cancel import CancelToken
from claw.errors import Cancelled, ProviderError, ReadTimeout, StreamStalled
from claw.events import Completed, StreamEvent
from claw.providers.base import OnPartialUsage
from claw.providers.endpoint import Endpoint
from claw.providers.guard import SocketGuard
from claw.providers.masking import masked
from claw.providers.reply import ReplyReader
from claw.providers.tap import Tap
from claw.providers.transport import Reply, Transport

SETTLE = 2.0  # seconds after the finish reason for what still belongs to the reply
LINGER = 0.05  # seconds after the end for the rest of the body, so that the connection lives on
SLACK = 0.05  # seconds by which a read may overrun a clock; saves most reads the look at it


class HTTPExchange:
    """Sends one request when it is iterated, and gives the reply's events.

    Raises ProviderError where there is no reply (the secrets masked), ConfigError where there
    can't be one. Ends without Completed only once `cancel` fired. For one thread.
    on_partial_usage, tap: see ModelRequest; the tap was told of the request.
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

    @property
    def began(self) -> bool:
        """Something that belongs to the reply has come, so the request must not be sent again. A
        first chunk that only names the role, or a ping, is no part of it: nothing was shown."""
        return self._reader.belonging > 0

    def __iter__(self) -> Iterator[StreamEvent]:
        guard = SocketGuard(self._cancel, self._endpoint.resolver)
        try:
            connect_timeout = self._bounded(self._endpoint.clocks.connect)
            timeout = self._bounded(self._endpoint.clocks.idle)
            with self._transport.post(
                self._body, guard, connect_timeout=connect_timeout, timeout=timeout, tap=self._tap
            ) as reply:
                yield from self._events(reply, timeout)
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

    def _events(self, reply: Reply, armed: float) -> Iterator[StreamEvent]:
        """`armed`: the read timeout that the connection has."""
        reader, cancel = self._reader, self._cancel
        progress_at, belonging = time.monotonic(), reader.belonging
        look_at, tight = 0.0, False  # tight: the read timeout is below what silence alone allows
        broken: ProviderError | None = None
        try:
            for data in reply.pieces:
                if cancel.cancelled:
                    return
                yield from reader.feed(data)
                if reader.ended:
                    break
                now = time.monotonic()
                if reader.belonging != belonging:
                    progress_at, belonging = now, reader.belonging
                if now < look_at and not tight and not reader.settling:
                    continue  # the clocks can't have come close since we looked
                look_at = now + SLACK
                patience, tight = self._patience(now - progress_at)
                if patience <= 0:
                    broken = self._silence(now - progress_at)
                    break
                if not armed - SLACK <= patience <= armed:
                    reply.set_timeout(patience)
                    armed = patience
        except ReadTimeout:
            broken = self._silence(time.monotonic() - progress_at)
        except ProviderError as error:
            broken = error
        if cancel.cancelled:
            return
        self._tell_end(broken)
        message = reader.finish(broken)
        self._on_partial_usage = None  # its usage is the message's
        yield Completed(message)
        _read_to_the_end(reply)

    def _tell_end(self, error: ProviderError | None) -> None:
        if self._tap is not None:
            self._tap.on_end(error)

    def _patience(self, since_progress: float) -> tuple[float, bool]:
        """Seconds that the next read may take, and whether the progress clock is what limits it."""
        clocks = self._endpoint.clocks
        left = (SETTLE if self._reader.settling else clocks.progress) - since_progress
        return self._bounded(min(clocks.idle, left)), left < clocks.idle

    def _bounded(self, seconds: float) -> float:
        """No longer than the token lives; a little more, so that it is over when we look."""
        left = self._cancel.remaining()
        return seconds if left is None else min(seconds, left + 0.001)

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
    end = time.monotonic() + LINGER
    reply.set_timeout(LINGER)
    try:
        for _ in reply.pieces:
            left = end - time.monotonic()
            if left <= 0:
                return
            reply.set_timeout(left)
    except ProviderError:
        pass  # then there is no connection to keep
