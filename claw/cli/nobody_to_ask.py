"""NobodyToAsk: the approver of a `claw run` without a terminal."""

from __future__ import annotations

import json
from dataclasses import replace

from claw.approval import Decision, Rules, command_line
from claw.cancel import CancelToken
from claw.cli.visible import visible
from claw.events import RunStatus
from claw.messages import ToolCall
from claw.policy import Answer, Verdict
from claw.tools.base import Tool

SHOWN = 60  # characters of the call


class NobodyToAsk(Rules):
    """What the policy settles is settled; the first call that must be asked about ends the run,
    and is kept in words."""

    _needed = ""

    def explain(self) -> str:
        """What needed approval and why, and how to allow it; "" where nothing did."""
        return self._needed

    def ask(self, call: ToolCall, tool: Tool, cancel: CancelToken, verdict: Verdict) -> Decision:
        if not self._needed:
            everything = Rules(cwd=self._cwd, settings=replace(self.settings, mode="all"))
            passes = everything.verdict(call, tool, cancel).answer is Answer.ALLOW
            self._needed = _explained(call, tool, verdict, passes_in_all=passes)
        return Decision(False, "it needed approval", end=RunStatus.NEEDS_APPROVAL)


def _explained(call: ToolCall, tool: Tool, verdict: Verdict, *, passes_in_all: bool) -> str:
    given = command_line(call, tool) or json.dumps(dict(call.arguments), ensure_ascii=False)
    shown = visible(given).replace("\n", " ")[:SHOWN]
    why = f": {visible(verdict.reason)}" if verdict.reason else ""
    remedy = f"allow it with {verdict.remedy} in config.toml" if verdict.remedy else ""
    in_all = "--approve all" if passes_in_all else ""
    remedies = ", or ".join(filter(None, ["run it in a terminal", remedy, in_all]))
    return f"{call.name} ({shown}) needed approval and there was nobody to ask{why}; {remedies}"
