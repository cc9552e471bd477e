"""The `claw-producer` thread: asks the provider and feeds the engine's Channel."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from threading import Thread

from claw.cancel import CancelToken
from claw.channel import Channel
from claw.errors import Cancelled, ClawError, ProtocolError, ProviderError
from claw.events import Completed, Failed, StreamEvent
from claw.log import log
from claw.messages import Message
from claw.providers.base import ModelRequest, Provider, StreamingProvider


class Producer:
    """One request on its own thread. The channel closes when the thread is done with it."""

    def __init__(
        self,
        provider: Provider | StreamingProvider,
        request: ModelRequest,
        cancel: CancelToken,
        *,
        buffer: int,
    ) -> None:
        self.channel: Channel[StreamEvent] = Channel(buffer, cancel)
        self._thread = Thread(
            target=_produce,
            args=(provider, request, cancel, self.channel),
            name="claw-producer",
            daemon=True,
        )
        self._thread.start()

    def join(self, timeout: float) -> None:
        """Waits until the thread has given its connection back; `timeout` in seconds."""
        self._thread.join(timeout)


def _produce(
    provider: Provider | StreamingProvider,
    request: ModelRequest,
    cancel: CancelToken,
    channel: Channel[StreamEvent],
) -> None:
    try:
        with closing(_stream(provider, request, cancel)) as stream:
            for event in stream:
                if isinstance(event, Completed):
                    _check_reply(event.message, provider)
                if not channel.send(event):
                    return
                if isinstance(event, (Completed, Failed)):
                    break
            channel.close()
            for _ in stream:
                pass  # the provider may read on, to keep its connection for the next request
    except Cancelled:
        pass  # the engine knows it from the token
    except ClawError as error:
        channel.send(Failed(error))
    except BaseException as error:  # a KeyboardInterrupt has no meaning on this thread either
        log().debug("the provider raised", exc_info=True)
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        words = f"{type(provider).__name__} raised {what} (a fault of the provider's code)"
        channel.send(Failed(ProviderError(words)))
    finally:
        channel.close()


def _check_reply(message: object, provider: Provider | StreamingProvider) -> None:
    if not isinstance(message, Message) or message.role != "assistant":
        kind = f"a {message.role}" if isinstance(message, Message) else "no"
        raise ProtocolError(
            f"{type(provider).__name__} gave {kind} message as its reply "
            "(a fault of the provider's code)"
        )


def _stream(
    provider: Provider | StreamingProvider, request: ModelRequest, cancel: CancelToken
) -> Generator[StreamEvent, None, None]:
    """A generator in any case, so that it can be closed."""
    if isinstance(provider, StreamingProvider):
        yield from provider.stream(request, cancel)
    else:
        yield Completed(provider.generate(request, cancel))
