"""How a run ended: RunStatus, and RunResult, which is the envelope that scripts read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from claw.errors import ClawError
from claw.messages import StopReason, Usage
from claw.values import frozen


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

    text: the last assistant message's text; with the parts before it where the server paused the
    answer. partial_text: what was shown of a reply that never became whole, and so isn't part of
    the conversation. usage: all steps added up, and of a reply that never became whole as much as
    the server had told; summaries and sub-agents included. cost: US dollars for that, None where it
    isn't known. session: the id of the session, where it has one.
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
            "stop_reason": None if self.stop_reason is None else self.stop_reason.value,
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
class Totals:
    """Runs added up. cost: US dollars of those whose cost is known; `unpriced` counts the others
    that took tokens."""

    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unpriced: int = 0

    def plus(self, usage: Usage, cost: float | None) -> Totals:
        """With one more run."""
        unpriced = cost is None and usage != Usage()
        return Totals(
            self.turns + 1,
            self.usage + usage,
            round(self.cost + (cost or 0), 6),
            self.unpriced + unpriced,
        )


def _error_dict(error: ClawError) -> dict[str, Any]:
    return {"status": None, "retryable": False, **error.to_dict()}
