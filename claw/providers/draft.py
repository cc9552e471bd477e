"""A reply that is still being written, in either dialect: its blocks, its ids, how it ended."""

from __future__ import annotations

import os
from typing import Any, Protocol

from claw.errors import ServerReported
from claw.events import ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta, ToolCallStart
from claw.messages import Block, Message, ReasoningBlock, TextBlock, ToolCall, Usage
from claw.providers.arguments import parse_arguments
from claw.providers.fragments import Fragments, mend, mend_json
from claw.providers.stop_reasons import is_failure, stop_reason


class Part(Protocol):
    """A block of the reply that is still being written."""

    def end(self, deltas: list[StreamEvent]) -> None: ...

    def block(self) -> Block | None: ...


class TextPart:
    """A text block. `add` returns the bytes that came, and shows what is whole of them."""

    def __init__(self) -> None:
        self._text = Fragments()

    def add(self, text: str, deltas: list[StreamEvent]) -> int:
        shown = self._text.add(text)
        if shown:
            deltas.append(TextDelta(shown))
        return size_of(text)

    def end(self, deltas: list[StreamEvent]) -> None:
        if half := self._text.end():
            deltas.append(TextDelta(half))

    def block(self) -> TextBlock | None:
        text = self._text.joined()
        return TextBlock(text) if text else None


class ReasoningPart:
    """A block of reasoning. `opaque`: what the server wants back with it."""

    def __init__(self) -> None:
        self._text = Fragments()
        self.opaque: Any = None

    def add(self, text: str, deltas: list[StreamEvent]) -> int:
        shown = self._text.add(text)
        if shown:
            deltas.append(ReasoningDelta(shown))
        return size_of(text)

    def end(self, deltas: list[StreamEvent]) -> None:
        if half := self._text.end():
            deltas.append(ReasoningDelta(half))

    def block(self) -> ReasoningBlock | None:
        text = self._text.joined()
        return ReasoningBlock(text, mend_json(self.opaque)) if text or self.opaque else None


class CallPart:
    """A tool call. `index` counts the calls; `id` is unique in the reply, `server_id` as sent."""

    def __init__(self, index: int, call_id: str, server_id: str) -> None:
        self.index = index
        self.id = call_id
        self.server_id = server_id
        self.opaque: Any = None
        self._names: list[str] = []
        self._arguments = Fragments()

    @property
    def name(self) -> str:
        return mend("".join(self._names))

    def add_name(self, piece: str) -> int:
        """Appends a piece of the name, unless it repeats the whole name."""
        if sum(map(len, self._names)) == len(piece) and "".join(self._names) == piece:
            return 0
        self._names.append(piece)
        return size_of(piece)

    def add(self, fragment: str, deltas: list[StreamEvent]) -> int:
        shown = self._arguments.add(fragment)
        if shown:
            deltas.append(ToolCallDelta(self.index, shown))
        return size_of(fragment)

    def end(self, deltas: list[StreamEvent]) -> None:
        if half := self._arguments.end():
            deltas.append(ToolCallDelta(self.index, half))

    def block(self) -> ToolCall:
        raw = self._arguments.joined()
        arguments, error = parse_arguments(raw)
        return ToolCall(
            id=self.id,
            name=self.name,
            arguments=arguments,
            error=error,
            raw="" if error is None else raw,
            opaque=mend_json(self.opaque),
        )


class Draft:
    """What both dialects fold into: `parts` in the order of the reply, and how it ended."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.stop_word = ""
        self.refused = False
        self.usage: Usage | None = None
        self.model = ""
        self._calls = 0
        self._ids: set[str] = set()

    def open_call(self, server_id: str, name: str, deltas: list[StreamEvent]) -> CallPart:
        """Begins a call. Without an id, or with one that is taken, it gets one of claw's own."""
        call = CallPart(self._calls, self._unique(server_id), server_id)
        call.add_name(name)
        self._calls += 1
        self.parts.append(call)
        deltas.append(ToolCallStart(call.index, call.id, call.name))
        return call

    def name_call(self, call: CallPart, server_id: str) -> None:
        """An id that came after its call began."""
        call.server_id = server_id
        if server_id not in self._ids:
            call.id = self._unique(server_id)

    def end(self, word: str) -> None:
        """Takes a finish reason; the first one holds. Raises ServerReported for a failure."""
        if is_failure(word):
            raise ServerReported(f"the server broke the reply off: {word}", retryable=True)
        self.stop_word = self.stop_word or mend(word)

    def settle(self, deltas: list[StreamEvent]) -> None:
        """After the finish reason, which came in this payload or before, no half is waited for."""
        for part in self.parts:
            part.end(deltas)

    def message(self) -> Message:
        blocks = tuple(block for part in self.parts if (block := part.block()) is not None)
        reason = stop_reason(self.stop_word, has_calls=self._calls > 0, refused=self.refused)
        return Message("assistant", blocks, reason, self.stop_word, self.usage, self.model)

    def _unique(self, wanted: str) -> str:
        chosen = mend(wanted)
        while not chosen or chosen in self._ids:
            chosen = "c" + os.urandom(4).hex()  # nine letters and digits: all that Mistral takes
        self._ids.add(chosen)
        return chosen


def size_of(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
