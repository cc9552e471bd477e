"""ReplyReader: the bytes of a reply's body folded into deltas and one Message, in either dialect.

The content type is not trusted; the first character tells what the body is: one JSON answer, an
HTML page, or an event stream. Reading (sockets, clocks, retries) is the transport's.
"""

from __future__ import annotations

import json
from enum import Enum

from claw.errors import ProtocolError, ProviderError, StreamTruncated
from claw.events import StreamEvent
from claw.messages import Message, Usage
from claw.providers.assembler import Assembler
from claw.providers.nesting import Nesting
from claw.providers.payloads import DONE, Mark, Payload, payloads_in
from claw.providers.server_errors import is_error, one_line, read_error, read_error_text
from claw.providers.sse import SSEDecoder
from claw.providers.templates import Templates

BLANK = b" \t\r\n\xef\xbb\xbf"  # with the bytes of a byte order mark
DELTA_LINE = b"event: content_block_delta\n"  # says what the data says; nearly every event has it


class BodyKind(Enum):
    """What a body turned out to be."""

    EVENTS = "events"
    JSON = "json"


EVENTS, JSON = BodyKind.EVENTS, BodyKind.JSON


class ReplyReader:
    """One reply. Feed it the body as it comes, then ask for the Message.

    max_reply_bytes: the most that text, reasoning and arguments may hold together.

    ended: nothing that still comes counts: `[DONE]`, the dialect's end mark, or a fault. Stop
        reading; `finish` gives the Message or raises the fault.
    settling: the finish reason came; what belongs to the reply may still follow for a while.
    began: a first good payload came, so what answers is a model server.
    belonging: grows with whatever belongs to the reply; pings and comments don't move it.
    """

    def __init__(self, assembler: Assembler, *, max_reply_bytes: int = 50_000_000) -> None:
        self.ended = False
        self.began = False
        self.belonging = 0
        self._assembler = assembler
        self._max = max_reply_bytes
        self._size = 0
        self._decoder = SSEDecoder(on_other_field=self._take_field)
        self._kind: BodyKind | None = None  # until the first character came
        self._body: list[bytes] = []  # of a JSON answer
        self._nesting = Nesting()
        self._templates = Templates(assembler.padding)
        self._fault: ProviderError | None = None

    @property
    def settling(self) -> bool:
        return bool(self._assembler.stop_word)

    @property
    def usage(self) -> Usage | None:
        """The counts as far as the server has told them."""
        return self._assembler.usage

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The deltas that `data` completes, in order.

        A fault doesn't swallow the deltas before it: they are returned, `ended` is set, and
        `finish` (or a further `feed`) raises it.
        """
        deltas: list[StreamEvent] = []
        if self.ended:
            if self._fault is not None:
                raise self._fault
            return deltas
        try:
            if self._kind is None:
                data = self._sniff(data)
            if self._kind is JSON:
                self._collect(data, deltas)
            else:
                self._decode(data, deltas)
        except ProviderError as fault:
            self._fault = fault
            self.ended = True
        return deltas

    def finish(self, broken: ProviderError | None = None) -> Message:
        """The whole Message, asked for once, when the body is at its end, broken or silent.

        broken: how the connection failed; None if the body ended in good order. With a finish
        reason it is no fault, without one it is raised, or else StreamTruncated. Raises the
        fault that `feed` met: ServerReported or ProtocolError.
        """
        if self._fault is not None:
            raise self._fault
        if self.settling:
            return self._assembler.message()
        if broken is not None:
            raise broken
        if self._kind is JSON and not self.ended:
            self._check_cut(b"".join(self._body).decode("utf-8", "replace"))
        raise StreamTruncated(
            "the server ended its reply without a finish reason: part of it is missing"
        )

    def _sniff(self, data: bytes) -> bytes:
        """Decides what the body is; returns what of `data` is to be read."""
        text = data.lstrip(BLANK)
        first = text[:1]
        if first == b"<":
            raise ProtocolError(
                "the server answered with an HTML page instead of a reply: check the base URL "
                "(`claw doctor URL` tries others)"
            )
        if first:
            self._kind = JSON if first in (b"{", b"[") else EVENTS
        return text if self._kind is JSON else data

    def _collect(self, data: bytes, deltas: list[StreamEvent]) -> None:
        """A JSON answer is read when its last bracket closes; what follows doesn't count."""
        self._body.append(data)
        self._nesting.add(data.decode("latin-1"))  # brackets and quotes are the same in UTF-8
        end = self._nesting.closed_at
        self._size += len(data)
        self._check(end or self._size)
        if end is None:
            return
        self.ended = True
        self._size = 0
        body = b"".join(self._body)[:end].decode("utf-8", "replace")
        for payload in self._payloads(body):
            if payload is not DONE:
                self._take_payload(payload, deltas)
        if not self.belonging:
            words = read_error_text(body).words
            raise ProtocolError(f"the server answered with JSON that is no reply: {words}")

    def _check_cut(self, body: str) -> None:
        """A JSON answer whose last bracket never came: cut off, or no JSON in the first place?"""
        try:
            json.loads(body)
        except json.JSONDecodeError as error:
            if error.pos < len(body.rstrip()) and not error.msg.startswith("Unterminated"):
                raise self._unreadable(body) from error
        except (ValueError, RecursionError) as error:
            raise self._unreadable(body) from error

    def _decode(self, data: bytes, deltas: list[StreamEvent]) -> None:
        message = self._decoder.only_message(data.removeprefix(DELTA_LINE))
        if message is not None:
            self._take_data(message, deltas)
            return
        for event in self._decoder.events(data):
            if event.event == "error":
                self._take_error(event.data)
            self._take_data(event.data, deltas)
            if self.ended:
                return

    def _take_data(self, data: str, deltas: list[StreamEvent]) -> None:
        """The data of one event: a chunk of a known kind, or whatever payloads are in it."""
        if known := self._templates.find(data):
            take, text = known
            self._count(take(text, deltas))
            return
        payloads = self._payloads(data)
        for payload in payloads:
            if payload is DONE:
                self.ended = True
            else:
                self._take_payload(payload, deltas)
            if self.ended:
                return
        self._learn(data, payloads)

    def _learn(self, data: str, payloads: list[Payload | Mark]) -> None:
        """The next chunk may be like this one; after the finish reason none is."""
        if self.settling:
            self._templates = Templates()
        elif len(payloads) == 1 and isinstance(payload := payloads[0], dict):
            hole = self._assembler.hole_in(payload)
            if hole is not None:
                self._templates.learn(data, payload, hole)

    def _take_error(self, data: str) -> None:
        """An event named `error`, in plain text or JSON; keep-alives and `[DONE]` aren't errors."""
        text = data.strip()
        if text not in ("", "null", "[DONE]") and not text.startswith(":"):
            raise read_error_text(text).to_error()

    def _take_field(self, name: str, value: str) -> None:
        """Older llama.cpp reports an error in a field of its own, which the standard ignores."""
        if name == "error":
            try:
                error = json.loads(value)
            except (ValueError, RecursionError):
                return
            if error is not None:
                raise read_error(error).to_error()

    def _payloads(self, data: str) -> list[Payload | Mark]:
        try:
            return payloads_in(data)
        except ValueError as error:
            raise self._unreadable(data) from error

    def _unreadable(self, data: str) -> ProtocolError:
        return ProtocolError(
            "the server sent something that is not JSON, so a part of the reply is lost: "
            + one_line(data, 80),
            retryable=self.began,
        )

    def _take_payload(self, payload: Payload, deltas: list[StreamEvent]) -> None:
        if is_error(payload):
            raise read_error(payload).to_error()
        self.began = True
        self._count(self._assembler.fold(payload, deltas))
        if self._assembler.ended:
            self.ended = True

    def _count(self, size: int) -> None:
        if size:
            self.belonging += 1
            self._size += size
            self._check(self._size)

    def _check(self, size: int) -> None:
        if size > self._max:
            raise ProtocolError(
                f"the reply is larger than the limit of {self._max:,} bytes (max_reply_bytes)"
            )
