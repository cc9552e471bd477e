"""A tape as values: what was recorded, run by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from claw.approval import Decision
from claw.errors import Cancelled, ClawError, ToolError
from claw.events import (
    RunEvent,
    RunFinished,
    RunResult,
    RunStatus,
    StreamEvent,
    ToolProgress,
    ToolStarted,
)
from claw.messages import Message
from claw.providers.quirks import Quirks
from claw.tape.format import Header
from claw.tape.setup import Setup
from claw.tools.base import ToolOutput
from claw.values import frozen


@dataclass
class Exchange:
    """A request that was sent, and what came of it. pieces: (seconds, bytes). ended: it wasn't
    cancelled, and the tape goes on behind it."""

    dialect: str
    model: str
    url: str
    quirks: Quirks
    max_reply_bytes: int
    body: str
    at: float
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    ended: bool = False
    error: ClawError | None = None


Part: TypeAlias = Exchange | StreamEvent
"""An exchange, Retrying between two of them, or what a provider said that speaks no HTTP."""


@dataclass
class Step:
    """All that came of one ModelRequest. cut: the run was cancelled in it, or the tape ends in it;
    told: so many events of it had been told by then, None: nobody knows."""

    parts: list[Part] = field(default_factory=list)
    cut: bool = False
    told: int | None = None

    @property
    def last(self) -> Exchange | None:
        """The exchange that is still open."""
        found = self.parts[-1] if self.parts else None
        return found if isinstance(found, Exchange) else None


@frozen
class TapedCall:
    """A call that began to run. ended: and came to an end, with `output` or with what it raised,
    Cancelled among it. late: only after it was cancelled. shown: its live output."""

    id: str
    name: str
    ended: bool = False
    seconds: float = 0.0
    output: ToolOutput | None = None
    raised: Exception | None = None
    late: bool = False
    shown: str = ""


@frozen
class Answer:
    """What an approver said: a Decision, or the ToolError or Cancelled that it raised."""

    call_id: str
    repeat: bool
    outcome: Decision | ToolError | Cancelled


@dataclass
class TapedRun:
    """One run. messages: what it left, None where the tape ends before. after: the number of the
    run whose last messages are its history; 0: `history` is."""

    number: int
    prompt: str
    session: str | None
    setup: Setup
    history: Sequence[Message] = ()
    after: int = 0
    events: list[RunEvent] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    steps: dict[int, Step] = field(default_factory=dict)
    calls: list[TapedCall] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    steering: list[Sequence[str]] = field(default_factory=list)
    kept: int = 0
    messages: Sequence[Message] | None = None

    @property
    def result(self) -> RunResult | None:
        last = self.events[-1] if self.events else None
        return last.result if isinstance(last, RunFinished) else None

    @property
    def cancel_reason(self) -> str:
        """Why it was cancelled, or the words for a tape that ends before."""
        return (self.result and self.result.cancel_reason) or "the tape ends here"

    def progress_of(self, call_id: str) -> str:
        """What was told of a call's live output; of its last call with that id."""
        texts: list[str] = []
        for event in self.events:
            if isinstance(event, ToolStarted) and event.call.id == call_id:
                texts.clear()
            elif isinstance(event, ToolProgress) and event.call.id == call_id:
                texts.append(event.text)
        return "".join(texts)

    @property
    def cut_short(self) -> bool:
        """Whether it was cancelled, or the tape ends in it."""
        early = (RunStatus.CANCELLED, RunStatus.DEADLINE)
        return self.result is None or self.result.status in early

    @property
    def whole(self) -> bool:
        """Whether the tape goes on to its end."""
        return self.result is not None and self.messages is not None


@dataclass
class Tape:
    """A tape. damage: lines that can't be read; cut_off: the last one is such a line."""

    header: Header
    runs: dict[int, TapedRun] = field(default_factory=dict)
    damage: int = 0
    cut_off: bool = False
