"""What the engine needs of a model: two Protocols, and the request they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from claw.cancel import CancelToken
from claw.events import StreamEvent
from claw.messages import Message, Usage
from claw.tools.base import Tool
from claw.values import frozen

if TYPE_CHECKING:
    from claw.providers.tap import Tap

OnPartialUsage: TypeAlias = Callable[[Usage], None]


@frozen
class ModelRequest:
    """One question to a model. `max_tokens` limits the reply; None leaves it to the provider.

    on_partial_usage: for what a reply cost that never became whole (it was cancelled, it broke
    off); a whole one has its usage in the Message. tap: sees what goes over the wire, where
    anything does.

    Contract: a provider may call it, on the thread that it is iterated on, each time that a reply
    comes to nothing after the server told some counts. It returns at once and doesn't raise.
    """

    messages: Sequence[Message]
    tools: Sequence[Tool] = field(default=(), kw_only=True)
    system: str = field(default="", kw_only=True)
    max_tokens: int | None = field(default=None, kw_only=True)
    on_partial_usage: OnPartialUsage | None = field(
        default=None, kw_only=True, compare=False, repr=False
    )
    tap: Tap | None = field(default=None, kw_only=True, compare=False, repr=False)


@runtime_checkable
class Provider(Protocol):
    """A model that answers in one piece.

    Contract: `generate` is called on a `claw-producer` thread, by several runs at once. It returns
    a whole assistant Message or raises a ProviderError. It may block; once `cancel` fires its
    answer is no longer waited for, so a callback on the token should free it.
    """

    def generate(self, request: ModelRequest, cancel: CancelToken) -> Message: ...


@runtime_checkable
class StreamingProvider(Protocol):
    """A model that answers piece by piece; with both methods, `stream` is used.

    Contract: `stream` is called, iterated and closed on one `claw-producer` thread. It is a plain
    iterator with no thread of its own: deltas, then exactly one Completed or Failed as the last
    event. A ProviderError that it raises counts as Failed. It ends without either only once
    `cancel` fired. A six-line generator is a fake provider.
    """

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]: ...
