"""The conversation as values: Message, its blocks, StopReason and Usage.

All are frozen, equal by content and picklable, and round-trip through `to_dict()` and
`from_dict()`. Fields that hold their default are left out of the dict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any, ClassVar, Literal, Self, TypeAlias

from claw.values import frozen

Role: TypeAlias = Literal["user", "assistant", "tool"]


class StopReason(str, Enum):
    """Why a reply ended, in one vocabulary for all dialects."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    OTHER = "other"


@frozen
class Usage:
    """Tokens as the server counts them; `input_tokens` is the whole prompt, cached or not."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def to_dict(self) -> dict[str, int]:
        """All four counts."""
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
            "reasoning_tokens": self.reasoning_tokens,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, int]) -> Usage:
        """The inverse of `to_dict()`."""
        return cls(**data)


class FromDict:
    """The shared part of blocks: they are read from what `to_dict()` gives."""

    __slots__ = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict()`."""
        return cls(**{key: data[key] for key in data if key != "type"})


@frozen
class TextBlock(FromDict):
    """Text of a user or of the model."""

    type: ClassVar[str] = "text"
    text: str

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "text": self.text}


@frozen
class ReasoningBlock(FromDict):
    """The model's thinking; `opaque` is what the server wants back with it, as it was sent."""

    type: ClassVar[str] = "reasoning"
    text: str
    opaque: Any = field(default=None, hash=False)

    def to_dict(self) -> dict[str, Any]:
        kept = {} if self.opaque is None else {"opaque": self.opaque}
        return {"type": self.type, "text": self.text, **kept}


@frozen
class ToolCall(FromDict):
    """A call the model asks for. `arguments` is a plain dict that nobody changes.

    Unusable arguments: `error` says why, `raw` is the text as received; such a call is never run.
    `opaque` is what the server wants back with the call, as it was sent.
    """

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    error: str | None = None
    raw: str = ""
    opaque: Any = field(default=None, hash=False)

    def to_dict(self) -> dict[str, Any]:
        data = {"type": self.type, "id": self.id, "name": self.name, "arguments": self.arguments}
        if self.error is not None:
            data |= {"error": self.error, "raw": self.raw}
        return data if self.opaque is None else data | {"opaque": self.opaque}


@frozen
class ToolResult(FromDict):
    """What the model is told about the call with the id `call_id`."""

    type: ClassVar[str] = "tool_result"
    call_id: str
    content: str
    is_error: bool = False

    def to_dict(self) -> dict[str, Any]:
        kept = {"is_error": True} if self.is_error else {}
        return {"type": self.type, "call_id": self.call_id, "content": self.content, **kept}


@frozen
class OpaqueBlock(FromDict):
    """A block only its server understands: kept where it stood, and sent back as received."""

    type: ClassVar[str] = "opaque"
    data: Mapping[str, Any] = field(hash=False)

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "data": self.data}


Block: TypeAlias = TextBlock | ReasoningBlock | ToolCall | ToolResult | OpaqueBlock
BLOCK_TYPES: Mapping[str, type[Block]] = {
    cls.type: cls for cls in (TextBlock, ReasoningBlock, ToolCall, ToolResult, OpaqueBlock)
}


@frozen
class Message:
    """One entry of the history. `stop_word` is the server's own word for the stop reason.

    `encodings`: what it is on the wire, by dialect. Encoded once, sent with every request.
    """

    role: Role
    blocks: tuple[Block, ...] = ()
    stop_reason: StopReason | None = None
    stop_word: str = ""
    usage: Usage | None = None
    model: str = ""
    encodings: dict[object, bytes] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def user(cls, text: str) -> Message:
        return cls("user", (TextBlock(text),))

    @classmethod
    def assistant(cls, *blocks: Block, stop_reason: StopReason | None = None) -> Message:
        return cls("assistant", blocks, stop_reason)

    @classmethod
    def tool(cls, *results: ToolResult) -> Message:
        return cls("tool", results)

    @property
    def text(self) -> str:
        """The text blocks, put together."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolResult))

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"role": self.role, "blocks": [b.to_dict() for b in self.blocks]}
        if self.stop_reason is not None:
            data["stop_reason"] = self.stop_reason.value
        if self.stop_word:
            data["stop_word"] = self.stop_word
        if self.usage is not None:
            data["usage"] = self.usage.to_dict()
        if self.model:
            data["model"] = self.model
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """The inverse of `to_dict()`."""
        usage, reason = data.get("usage"), data.get("stop_reason")
        return cls(
            role=data["role"],
            blocks=tuple(block_from_dict(block) for block in data["blocks"]),
            stop_reason=None if reason is None else StopReason(reason),
            stop_word=data.get("stop_word", ""),
            usage=None if usage is None else Usage.from_dict(usage),
            model=data.get("model", ""),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        told = (self.role, self.blocks, self.stop_reason, self.stop_word, self.usage, self.model)
        return Message, told  # without its encodings


def block_from_dict(data: Mapping[str, Any]) -> Block:
    """The block that `to_dict()` gave `data`."""
    return BLOCK_TYPES[data["type"]].from_dict(data)
