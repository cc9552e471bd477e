"""A question to a server, and its answer with everything seen on the wire.

claw mends most oddities before anybody sees them. A probe wants to see them, so it reads replies
with the same decoder and the same assembler, and keeps what they are given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field
from typing import Any

from claw.cancel import CancelToken
from claw.errors import ProviderError, ReadTimeout
from claw.events import Completed, StreamEvent
from claw.messages import Message, Usage
from claw.providers.assembler import Assembler
from claw.providers.endpoint import Endpoint
from claw.providers.exchange import HTTPExchange
from claw.providers.payloads import Payload
from claw.providers.reply import ReplyReader
from claw.providers.server_errors import one_line
from claw.providers.templates import Hole
from claw.providers.transport import Transport
from claw.values import frozen

REPLY_BYTES = 1_000_000
TAIL = 100  # bytes in which the end mark is looked for
QUOTED = 60  # characters of what a server said


@frozen
class Answer:
    """What came back. payloads: the JSON objects of the reply as they were sent, in order.

    arrivals: seconds from the request to each piece of the body. in_one_piece: the body was one
    JSON answer, no stream. end_mark: `[DONE]` came. seconds: until the outcome was there. hide:
    takes the key out of what the server said.
    """

    outcome: Message | ProviderError
    payloads: tuple[Payload, ...] = ()
    arrivals: tuple[float, ...] = ()
    in_one_piece: bool = False
    end_mark: bool = False
    seconds: float = 0.0
    hide: Callable[[str], str] = field(default=str, repr=False)

    @property
    def message(self) -> Message | None:
        return self.outcome if isinstance(self.outcome, Message) else None

    @property
    def error(self) -> ProviderError | None:
        return self.outcome if isinstance(self.outcome, ProviderError) else None

    def quoted(self, text: str, limit: int = QUOTED) -> str:
        """What the server said, fit to be shown: one line, without the key, `limit` characters."""
        return one_line(self.hide(text), limit)

    @property
    def works(self) -> bool:
        """A whole reply came, or more of it would have come with more time."""
        unfinished = isinstance(self.outcome, ReadTimeout) and bool(self.payloads)
        return self.message is not None or unfinished


class RecordingAssembler:
    """An Assembler that keeps each payload and hands it on; it lets none be skipped."""

    padding = ""

    def __init__(self, assembler: Assembler) -> None:
        self.payloads: list[Payload] = []
        self._assembler = assembler

    @property
    def stop_word(self) -> str:
        return self._assembler.stop_word

    @property
    def ended(self) -> bool:
        return self._assembler.ended

    @property
    def usage(self) -> Usage | None:
        return self._assembler.usage

    def fold(self, payload: dict[str, Any], deltas: list[StreamEvent]) -> int:
        self.payloads.append(payload)
        return self._assembler.fold(payload, deltas)

    def hole_in(self, payload: dict[str, Any]) -> Hole | None:
        """Never: with templates, most payloads would not be seen."""
        return None

    def message(self) -> Message:
        return self._assembler.message()


class RecordingReader(ReplyReader):
    """A ReplyReader that keeps when the pieces came (monotonic seconds), how the body begins and
    how it ends."""

    def __init__(self, assembler: Assembler) -> None:
        super().__init__(assembler, max_reply_bytes=REPLY_BYTES)
        self.head = self.tail = b""
        self.arrivals: list[float] = []

    def feed(self, data: bytes) -> list[StreamEvent]:
        self.arrivals.append(time.monotonic())
        self.head = self.head or data.lstrip()[:1]
        self.tail = (self.tail + data)[-TAIL:]
        return super().feed(data)


def ask(
    transport: Transport,
    endpoint: Endpoint,
    body: bytes,
    assembler: Assembler,
    cancel: CancelToken,
    *,
    timeout: float,
) -> Answer:
    """Asks once, for at most `timeout` seconds; no answer in that time is a ReadTimeout.

    Raises Cancelled once `cancel` fired, ConfigError. It blocks the calling thread.
    """
    recorder = RecordingAssembler(assembler)
    reader = RecordingReader(recorder)
    start = time.monotonic()
    outcome: Message | ProviderError | None = None
    with cancel.child(timeout) as limit:
        try:
            for event in HTTPExchange(transport, endpoint, body, reader, limit):
                if isinstance(event, Completed):
                    outcome = event.message
        except ProviderError as error:
            outcome = error.with_traceback(None)
    cancel.raise_if_cancelled()
    return Answer(
        outcome or ReadTimeout(f"no whole answer within {timeout:.0f} s"),
        payloads=tuple(recorder.payloads),
        arrivals=tuple(each - start for each in reader.arrivals),
        in_one_piece=reader.head in (b"{", b"["),
        end_mark=b"[DONE]" in reader.tail,
        seconds=time.monotonic() - start,
    )
