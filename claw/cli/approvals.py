"""The approver of a `claw run` that has nobody to ask."""

from __future__ import annotations

from pathlib import Path

from claw.approval import Decision, Rules
from claw.cancel import CancelToken
from claw.cli.visible import visible
from claw.events import RunStatus
from claw.messages import ToolCall
from claw.policy import PolicySettings, Verdict
from claw.tools.base import Tool


class NobodyToAsk:
    """What the policy settles is settled; the first call that must be asked about ends the run,
    and is kept."""

    def __init__(self, *, cwd: Path, settings: PolicySettings) -> None:
        self.rules = Rules(self._refuse, cwd=cwd, settings=settings)
        self._stopped_at: tuple[ToolCall, Verdict] | None = None

    def __call__(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        return self.rules(call, tool, cancel)

    def explain(self) -> str:
        """What needed approval and why, and how to allow it."""
        if self._stopped_at is None:
            return ""
        call, verdict = self._stopped_at
        subject = next((str(value) for value in call.arguments.values()), "")
        shown = visible(subject).replace("\n", " ")[:60]
        why = f": {visible(verdict.reason)}" if verdict.reason else ""
        remedy = f"allow it with {verdict.rule} in config.toml" if verdict.rule else ""
        remedies = ", or ".join(filter(None, ["run it in a terminal", remedy, "--approve all"]))
        return f"{call.name} ({shown}) needed approval and there was nobody to ask{why}; {remedies}"

    def _refuse(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        if self._stopped_at is None:
            self._stopped_at = call, self.rules.verdict(call, tool, cancel)
        return Decision(False, "it needed approval", end=RunStatus.NEEDS_APPROVAL)
