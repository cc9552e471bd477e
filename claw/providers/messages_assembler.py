"""From the payloads of a Messages reply to deltas and one Message, streamed or in one piece.

The rules are those of tests/cases/README.md: the `type` in the data counts, not the event line;
usage is a total so far; a gateway's reply may lack any event but the one with the stop reason.
"""

from __future__ import annotations

from typing import Any

from claw.events import StreamEvent
from claw.messages import Message, Usage
from claw.providers.draft import Draft
from claw.providers.fragments import mend
from claw.providers.messages_blocks import Index, MessagesBlocks
from claw.providers.templates import Hole
from claw.providers.usage import messages_usage, take_largest


class MessagesAssembler:
    """The Assembler of the Messages dialect."""

    padding = "p"  # some gateways add it, so that sizes on the wire tell nothing

    def __init__(self) -> None:
        self.ended = False
        self._draft = Draft()
        self._blocks = MessagesBlocks(self._draft)
        self._counts: dict[str, int] = {}

    @property
    def stop_word(self) -> str:
        return self._draft.stop_word

    @property
    def usage(self) -> Usage | None:
        return messages_usage(self._counts) if self._counts else None

    def fold(self, payload: dict[str, Any], deltas: list[StreamEvent]) -> int:
        """Takes the data of one event, or a whole `message`. See Assembler."""
        size = self._fold(payload, deltas)
        if self._draft.stop_word:
            self._draft.settle(deltas)
        return size

    def hole_in(self, payload: dict[str, Any]) -> Hole | None:
        """The text, thinking or JSON of a `content_block_delta`. See Assembler."""
        delta = payload.get("delta")
        if payload.get("type") != "content_block_delta" or type(delta) is not dict:
            return None
        return self._blocks.hole_in(_index(payload), delta)

    def message(self) -> Message:
        """The whole reply."""
        self._blocks.take_own_inputs()
        self._draft.usage = self.usage
        return self._draft.message()

    def _fold(self, payload: dict[str, Any], deltas: list[StreamEvent]) -> int:
        match payload.get("type"):
            case "content_block_delta":
                delta = _object(payload.get("delta"))
                return self._blocks.fold(_index(payload), delta, deltas)
            case "content_block_start":
                block = _object(payload.get("content_block"))
                return self._blocks.begin(_index(payload), block, deltas)
            case "content_block_stop":
                self._blocks.end(_index(payload), deltas)
                return 1
            case "message_start":
                return 1 + self._take_head(_object(payload.get("message")))
            case "message_delta":
                size = self._take_usage(payload)
                return size + self._take_reason(_object(payload.get("delta")))
            case "message_stop":
                self.ended = True
                return 1
            case "message":
                return self._take_whole(payload, deltas)
        return 0

    def _take_head(self, message: dict[str, Any]) -> int:
        if isinstance(model := message.get("model"), str):
            self._draft.model = mend(model)
        return self._take_usage(message)

    def _take_whole(self, message: dict[str, Any], deltas: list[StreamEvent]) -> int:
        """An answer in one piece, as a server gives it that doesn't stream."""
        size = self._take_head(message)
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            size += self._blocks.begin(None, _object(block), deltas)
        return size + self._take_reason(message)

    def _take_reason(self, holder: dict[str, Any]) -> int:
        word = holder.get("stop_reason")
        if not isinstance(word, str) or not word.strip():
            return 0
        self._draft.end(word.strip())
        return 1

    def _take_usage(self, holder: dict[str, Any]) -> int:
        return int(take_largest(self._counts, _object(holder.get("usage"))))


def _index(payload: dict[str, Any]) -> Index:
    index = payload.get("index")
    return index if type(index) is int else None


def _object(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}
