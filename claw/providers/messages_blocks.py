"""Messages: which block of a reply a delta belongs to.

The rules are those of tests/cases/README.md: indexes may begin anywhere and have gaps, a text delta
needs no block that began, and what is of an unknown kind is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from claw.events import StreamEvent
from claw.providers.arguments import json_text
from claw.providers.draft import CallPart, Draft, TextPart, size_of
from claw.providers.messages_parts import ServerPart, ThinkingPart, is_servers_own
from claw.providers.templates import Hole

Index: TypeAlias = int | None  # None: none was given, so the block that began last is meant
Add: TypeAlias = Callable[[Index, str, list[StreamEvent]], int]


class MessagesBlocks:
    """The blocks of one reply. Sizes are in bytes, as `Assembler.fold` returns them."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._texts: dict[Index, TextPart] = {}
        self._thoughts: dict[Index, ThinkingPart] = {}
        self._inputs: dict[Index, CallPart | ServerPart] = {}
        self._unknown: set[Index] = set()
        self._own_inputs: dict[CallPart, Any] = {}  # of the calls that got no delta so far

    def begin(self, index: Index, block: dict[str, Any], deltas: list[StreamEvent]) -> int:
        """Takes a block as it begins, or the whole of it; 0 if it is of an unknown kind."""
        kind = _text(block.get("type"))
        self._unknown -= {index, None}
        if kind == "text":
            self._open_text(index, deltas)
            return 1 + self._add_text(index, _text(block.get("text")), deltas)
        if kind == "thinking":
            self._open_thought(index, deltas)
            size = self._add_thought(index, _text(block.get("thinking")), deltas)
            return 1 + size + self._sign(index, block.get("signature"), deltas)
        if kind == "tool_use":
            return self._open_call(index, block, deltas)
        if is_servers_own(kind):
            part = self._inputs[index] = self._inputs[None] = ServerPart(block)
            self._draft.parts.append(part)
            return size_of(json.dumps(block))
        self._unknown |= {index, None}
        return 0

    def fold(self, index: Index, delta: dict[str, Any], deltas: list[StreamEvent]) -> int:
        """Takes a delta of block `index`; 0 if nothing of it is known."""
        kind = delta.get("type")
        if kind == "signature_delta":
            return self._sign(index, delta.get("signature"), deltas)
        if (found := self._adder(kind)) is None:
            return 0
        key, add = found
        value = delta.get(key)
        if key == "partial_json":
            value = json_text(value)
        return add(index, _text(value), deltas)

    def hole_in(self, index: Index, delta: dict[str, Any]) -> Hole | None:
        """The piece of text, thinking or JSON in a delta that was just folded."""
        if (found := self._adder(delta.get("type"))) is None:
            return None
        key, add = found
        return Hole(delta, key, partial(add, index)) if type(delta.get(key)) is str else None

    def end(self, index: Index, deltas: list[StreamEvent]) -> None:
        """No half of a character is waited for any more in block `index`."""
        for part in (self._texts.get(index), self._thoughts.get(index), self._inputs.get(index)):
            if part is not None:
                part.end(deltas)

    def take_own_inputs(self) -> None:
        """The reply is whole: where no delta came, the input is what the block began with."""
        for call, value in self._own_inputs.items():
            call.add(json.dumps(value), [])
        self._own_inputs.clear()

    def _adder(self, kind: Any) -> tuple[str, Add] | None:
        """The key that deltas of a kind have their text in, and what takes it."""
        match kind:
            case "text_delta":
                return "text", self._add_text
            case "thinking_delta":
                return "thinking", self._add_thought
            case "input_json_delta":
                return "partial_json", self._add_input
        return None

    def _add_text(self, index: Index, text: str, deltas: list[StreamEvent]) -> int:
        part = self._texts.get(index)
        if part is None:
            if not text or index in self._unknown:
                return 0
            part = self._open_text(index, deltas)
        return part.add(text, deltas)

    def _add_thought(self, index: Index, text: str, deltas: list[StreamEvent]) -> int:
        part = self._thoughts.get(index)
        if part is None:
            if not text or index in self._unknown:
                return 0
            part = self._open_thought(index, deltas)
        return part.add(text, deltas)

    def _add_input(self, index: Index, fragment: str, deltas: list[StreamEvent]) -> int:
        part = self._inputs.get(index)
        if part is None or not fragment or index in self._unknown:
            return 0
        if self._own_inputs and isinstance(part, CallPart):
            self._own_inputs.pop(part, None)
        return part.add(fragment, deltas)

    def _sign(self, index: Index, signature: Any, deltas: list[StreamEvent]) -> int:
        """A signature comes whole, so one that comes later takes the place of the first."""
        if not _text(signature) or index in self._unknown:
            return 0
        part = self._thoughts.get(index) or self._open_thought(index, deltas)
        part.signature = signature
        return size_of(signature)

    def _open_text(self, index: Index, deltas: list[StreamEvent]) -> TextPart:
        if None in self._texts:
            self._texts[None].end(deltas)  # what is shown stays in the order of the blocks
        part = self._texts[index] = self._texts[None] = TextPart()
        self._draft.parts.append(part)
        return part

    def _open_thought(self, index: Index, deltas: list[StreamEvent]) -> ThinkingPart:
        if None in self._thoughts:
            self._thoughts[None].end(deltas)
        part = self._thoughts[index] = self._thoughts[None] = ThinkingPart()
        self._draft.parts.append(part)
        return part

    def _open_call(self, index: Index, block: dict[str, Any], deltas: list[StreamEvent]) -> int:
        name = _text(block.get("name"))
        call = self._draft.open_call(_text(block.get("id")), name, deltas)
        self._inputs[index] = self._inputs[None] = call
        if not (own := block.get("input")):
            return 1 + size_of(name)
        self._own_inputs[call] = own
        return 1 + size_of(name) + size_of(json.dumps(own))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
