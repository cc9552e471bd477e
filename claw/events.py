"""What happens, as values: StreamEvent (a provider's) and RunEvent (the engine's).

A provider yields StreamEvents; exactly one Completed or Failed comes, as the last one. The deltas
are made a hundred thousand times, so they are plain slots classes; all others are frozen.
Streaming is a display protocol: only Completed carries a Message, and only that is acted upon.

Each event has `.type` and `to_dict()`: JSON lines, traces and the pull API speak this vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeAlias

from claw.errors import ClawError
from claw.messages import Message, ToolCall, ToolResult, Usage
from claw.results import CallSummary as CallSummary  # how a run ended is told by an event, too
from claw.results import RunResult as RunResult
from claw.results import RunStatus as RunStatus
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

    error: without advice for the user, for claw does something about it. remedy: what, as it
    stands behind "trying again" ("without stream_options from now on"); "" where the same is sent
    to the same server.
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


@frozen
class RunStarted(Event):
    """A run begins; the prompt is in the history."""

    type = "run_started"
    prompt: str


@frozen
class TextComplete(Event):
    """The whole text of an answer that is now in the history: of one assistant message, or of all
    parts of an answer that the server paused and went on with."""

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
    """A model reply is in the history; `usage` is this step's, None where the server told none.
    What a reply cost that never became whole is counted in RunResult alone."""

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


def _plain(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else value
