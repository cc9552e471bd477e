"""Messages: the blocks that only this dialect has, while they are being written.

All of them go back with the next request as they came: Anthropic checks that thinking is unchanged
and in its place (platform.claude.com, "Extended thinking").
"""

from __future__ import annotations

from typing import Any

from claw.events import StreamEvent
from claw.messages import OpaqueBlock, ReasoningBlock
from claw.providers.arguments import parse_arguments
from claw.providers.draft import ReasoningPart, size_of
from claw.providers.fragments import mend, mend_json

THINKING = "thinking"
REDACTED = "redacted_thinking"


def is_servers_own(block_type: str) -> bool:
    """Whether a block is the server's affair: encrypted thinking, its own tools and their results.
    Blocks of any other type that isn't known are passed over."""
    return block_type == REDACTED or block_type.endswith(("_tool_use", "_tool_result"))


class ThinkingPart(ReasoningPart):
    """A block of thinking. Its text may be empty and its signature not: then that is sent back."""

    def __init__(self) -> None:
        super().__init__()
        self.signature = ""

    def block(self) -> ReasoningBlock | None:
        text = self._text.joined()
        if not (text or self.signature):
            return None
        return ReasoningBlock(text, {"type": THINKING, "signature": mend(self.signature)})


class ServerPart:
    """A block of the server's own: `data` as it came, with an `input` that may come in deltas."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        self._input: list[str] = []

    def add(self, fragment: str, deltas: list[StreamEvent]) -> int:
        self._input.append(fragment)
        return size_of(fragment)

    def end(self, deltas: list[StreamEvent]) -> None:
        """Nothing of it is shown."""

    def block(self) -> OpaqueBlock:
        data: dict[str, Any] = mend_json(self._data)
        if given := mend("".join(self._input)):
            arguments, _ = parse_arguments(given)
            data["input"] = dict(arguments)
        return OpaqueBlock(data)
