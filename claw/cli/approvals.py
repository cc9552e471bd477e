"""The approver of a `claw run` that has nobody to ask."""

from __future__ import annotations

from pathlib import Path

from claw.approval import Decision, Rules
from claw.cancel import CancelToken
from claw.events import RunStatus
from claw.messages import ToolCall
from claw.tools.base import Tool


class NobodyToAsk:
    """Reads in the workspace pass; the first call that needs approval ends the run, and is kept."""

    def __init__(self, cwd: Path) -> None:
        self.stopped_at: ToolCall | None = None
        self._rules = Rules(self._refuse, cwd=cwd)

    def __call__(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        return self._rules(call, tool, cancel)

    def explain(self) -> str:
        """What needed approval, and how to allow it."""
        if self.stopped_at is None:
            return ""
        call = self.stopped_at
        subject = next((str(value) for value in call.arguments.values()), "")
        shown = "".join(char if char.isprintable() else " " for char in subject)[:60]
        return (
            f"{call.name} ({shown}) needed approval and there was nobody to ask: "
            "run it in a terminal, or allow everything with --approve all"
        )

    def _refuse(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        self.stopped_at = self.stopped_at or call
        return Decision(False, "it needed approval", end=RunStatus.NEEDS_APPROVAL)
