"""What happens, as values: StreamEvent (a provider's) and RunEvent (the engine's).

A provider yields StreamEvents; exactly one Completed or Failed comes, as the last one. The deltas
are made a hundred thousand times, so they are plain slots classes; all others are frozen.
Streaming is a display protocol: only Completed carries a Message, and only that is acted upon.

Each event has `.type` and `to_dict()`: JSON lines, traces and the pull API speak this vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from claw.errors import ClawError
from claw.messages import Message, StopReason, ToolCall, ToolResult, Usage
from claw.values import frozen


class Event:
    """The shared part: `type` names the event, `to_dict()` spells it out in JSON's types."""

    __slots__ = ()
    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]  # a dataclass each
        return {"type": self.type, **{name: _plain(getattr(self, name)) for name in names}}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Event:
        """The event that `to_dict()` gave `data`; KeyError for a type that there isn't."""
        kinds = {kind.type: kind for kind in Event.__subclasses__()}
        return kinds[data["type"]]._read({key: data[key] for key in data if key != "type"})

    @classmethod
    def _read(cls, values: dict[str, Any]) -> Event:
        readers = {name: READERS[name] for name in READERS.keys() & values.keys()}
        return cls(**values | {name: read(values[name]) for name, read in readers.items()})


# --- what a provider yields ---------------------------------------------------------------------


@dataclass(slots=True)
class TextDelta(Event):
    """A piece of the answer."""

    type = "text_delta"
    text: str


@dataclass(slots=True)
class ReasoningDelta(Event):
    """A piece of the model's thinking; never part of the answer."""

    type = "reasoning_delta"
    text: str


@dataclass(slots=True)
class ToolCallStart(Event):
    """A call begins; `index` counts the calls of this reply in order of appearance. The id may
    still change (some servers send it late): the one in the Message holds."""

    type = "tool_call_start"
    index: int
    id: str
    name: str


@dataclass(slots=True)
class ToolCallDelta(Event):
    """A fragment of the arguments' JSON of call `index`."""

    type = "tool_call_delta"
    index: int
    fragment: str


@frozen
class Retrying(Event):
    """The request failed before anything was shown; it is sent again after `wait_s` seconds.

    remedy: what is changed for it, as it stands behind "trying again" ("without stream_options");
    "" where the same is sent to the same server.
    """

    type = "retrying"
    attempt: int
    wait_s: float
    error: ClawError
    remedy: str = ""


@frozen
class Completed(Event):
    """The whole reply, in good order. The last event of its stream."""

    type = "completed"
    message: Message


@frozen
class Failed(Event):
    """There is no reply. The last event of its stream."""

    type = "failed"
    error: ClawError


Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallStart | ToolCallDelta | Retrying
StreamEvent: TypeAlias = Delta | Completed | Failed


# --- what the engine tells ----------------------------------------------------------------------


class RunStatus(str, Enum):
    """How a run ended."""

    COMPLETED = "completed"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    MAX_STEPS = "max_steps"
    BUDGET = "budget"
    DEADLINE = "deadline"
    LOOP = "loop"
    NEEDS_APPROVAL = "needs_approval"
    CANCELLED = "cancelled"
    ERROR = "error"


@frozen
class CallSummary:
    """One finished call of a run, as the result lists it."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(hash=False)
    is_error: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "arguments": self.arguments,
            "is_error": self.is_error,
        }


@frozen
class RunResult:
    """How a run ended; `to_dict()` is the envelope that `--output json` prints.

    text: the last assistant message's text. partial_text: what was shown of a reply that never
    became whole, and so isn't part of the conversation. usage: all steps added up.
    cost and session stay None unless the caller knows them.
    """

    status: RunStatus
    stop_reason: StopReason | None = None
    stop_word: str = ""
    text: str = ""
    partial_text: str = ""
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    tool_calls: tuple[CallSummary, ...] = ()
    cancel_reason: str | None = None
    error: ClawError | None = None
    duration_s: float = 0.0
    cost: float | None = None
    session: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": 1,
            "status": self.status.value,
            "stop_reason": _plain(self.stop_reason),
            "stop_word": self.stop_word,
            "text": self.text,
            "partial_text": self.partial_text,
            "steps": self.steps,
            "usage": self.usage.to_dict(),
            "cost": self.cost,
            "tool_calls": [call.to_dict() for call in self.tool_calls],
            "session": self.session,
            "duration_s": self.duration_s,
            "cancel_reason": self.cancel_reason,
            "error": None if self.error is None else _error_dict(self.error),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunResult:
        """The inverse of `to_dict()`."""
        values = {key: value for key, value in data.items() if key != "version"}
        reason, error = values["stop_reason"], values["error"]
        values["status"] = RunStatus(values["status"])
        values["stop_reason"] = None if reason is None else StopReason(reason)
        values["usage"] = Usage.from_dict(values["usage"])
        values["tool_calls"] = tuple(CallSummary(**call) for call in values["tool_calls"])
        values["error"] = None if error is None else ClawError.from_dict(error)
        return cls(**values)


@frozen
class RunStarted(Event):
    """A run begins; the prompt is in the history."""

    type = "run_started"
    prompt: str


@frozen
class TextComplete(Event):
    """The whole text of an assistant message that is now in the history."""

    type = "text_complete"
    text: str


@frozen
class ToolStarted(Event):
    """A call is about to be checked, asked about and run; one of a cut reply is refused."""

    type = "tool_started"
    call: ToolCall


@frozen
class ToolProgress(Event):
    """Live output of a running call; `dropped` characters before it were never told."""

    type = "tool_progress"
    call: ToolCall
    text: str
    dropped: int = 0


@frozen
class ToolFinished(Event):
    """A call has its result. `duration_s` is the time it ran; questions don't count. `details` are
    what the tool tells reporters beside its result (an exit code)."""

    type = "tool_finished"
    call: ToolCall
    result: ToolResult
    duration_s: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


@frozen
class Notice(Event):
    """One line for the user: something was repaired, retried or left out."""

    type = "notice"
    text: str


@frozen
class StepFinished(Event):
    """A model reply is in the history; `usage` is this step's, None where the server told none."""

    type = "step_finished"
    usage: Usage | None


@frozen
class RunFinished(Event):
    """The last event of a run; its payload is the envelope."""

    type = "run_finished"
    result: RunResult

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.type, **self.result.to_dict()}

    @classmethod
    def _read(cls, values: dict[str, Any]) -> RunFinished:
        return cls(RunResult.from_dict(values))


RunEvent: TypeAlias = (
    Delta
    | RunStarted
    | TextComplete
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Notice
    | StepFinished
    | RunFinished
)


READERS: Mapping[str, Callable[[Any], Any]] = {
    "message": Message.from_dict,
    "error": ClawError.from_dict,
    "call": ToolCall.from_dict,
    "result": ToolResult.from_dict,
    "usage": lambda usage: None if usage is None else Usage.from_dict(usage),
}
"""The fields of events that are values themselves, and how they are read."""


def _error_dict(error: ClawError) -> dict[str, Any]:
    return {"status": None, "retryable": False, **error.to_dict()}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return value
