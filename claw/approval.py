"""Who decides whether a call may run: Decision, Approver, and the ready-made ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from claw.cancel import CancelToken
from claw.events import RunStatus
from claw.messages import ToolCall
from claw.policy import Answer, Kind, PolicySettings, Request, Verdict
from claw.tools.base import PreviewFunction, Tool, ToolContext
from claw.values import frozen


@frozen
class Decision:
    """allowed, or not; `reason` goes to the model with a denial. With `end`, this call and those
    after it get 'not run' results and the run ends with that status."""

    allowed: bool
    reason: str = ""
    end: RunStatus | None = None


Approver: TypeAlias = Callable[[ToolCall, Tool, CancelToken], Decision]
"""Contract: asked for every valid call, read-only ones too, in order, on the thread that called
Engine.run. It may block; it should return soon once the token fires (what it then returns doesn't
count) and may raise Cancelled. What the tool says about the call (`preview`, `caution`,
`protected`) knows the run's own context, whatever context it is called with. ToolError says that
the call can't work (a preview found out): the model gets its words. Anything else it raises ends
the run and reaches the caller."""


def allow_all(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
    """Allows every call."""
    return Decision(True)


def deny_all(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
    """Denies every call, read-only ones too; the run goes on."""
    return Decision(False, "no approval was given: this run may not use tools")


class Rules:
    """Approver: what the policy (claw.policy) allows or denies is settled, the rest is for `ask`.

    cwd: where commands run. settings: mode and rules; may be replaced between calls. Grants hold
    as long as this object: a tool by its name, a command by its identical text.
    """

    def __init__(
        self,
        ask: Approver = deny_all,
        *,
        cwd: Path | None = None,
        settings: PolicySettings | None = None,
    ) -> None:
        self._ask = ask
        self._cwd = Path(os.path.realpath(cwd or Path.cwd()))
        self.settings = settings or PolicySettings(folders=(str(self._cwd),))

    def __call__(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        verdict = self.verdict(call, tool, cancel)
        if verdict.answer is Answer.ASK:
            return self._ask(call, tool, cancel)
        return Decision(verdict.answer is Answer.ALLOW, verdict.reason)

    def verdict(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Verdict:
        """What the policy says of the call, and why."""
        return self._judged(self._request(call, tool, cancel), self.settings)

    def can_grant(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> bool:
        """Whether a grant would let this very call pass: nothing lets a cautioned one."""
        granted = self.settings.granted | {grant_of(call, tool)}
        settings = replace(self.settings, granted=granted)
        return self._judged(self._request(call, tool, cancel), settings).answer is Answer.ALLOW

    def grant(self, call: ToolCall, tool: Tool) -> None:
        """From now on calls like this one pass unasked."""
        granted = self.settings.granted | {grant_of(call, tool)}
        self.settings = replace(self.settings, granted=granted)

    def take_back(self, grant: tuple[str, str]) -> None:
        """Such calls are asked about again."""
        self.settings = replace(self.settings, granted=self.settings.granted - {grant})

    def _judged(self, request: Request, settings: PolicySettings) -> Verdict:
        """The policy sees words alone; where the paths among them lead is looked at here."""
        from claw.policy.judge import judge  # late: it knows many commands

        verdict = judge(request, settings)
        for path in verdict.reads:
            real = Path(os.path.realpath(self._cwd / path))
            if not any(real.is_relative_to(folder) for folder in settings.folders):
                return Verdict(Answer.ASK, f"{path} leads out of the workspace, to {real}")
        return verdict

    def _request(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Request:
        context = ToolContext(call, cancel, self._cwd)

        def said(about: PreviewFunction | None) -> str:
            return (about and about(call.arguments, context)) or ""

        return Request(
            call.name,
            call.arguments,
            kind_of(tool),
            command_line=command_line(call, tool),
            caution=said(tool.caution),
            protected=said(tool.protected),
        )


def grant_of(call: ToolCall, tool: Tool) -> tuple[str, str]:
    """What a grant for the session covers: the tool's name, and the identical command if it has
    one."""
    return call.name, command_line(call, tool)


def command_line(call: ToolCall, tool: Tool) -> str:
    """The shell command line of a call; "" for a tool that takes none."""
    return str(call.arguments.get(tool.command, "")) if tool.command else ""


def kind_of(tool: Tool) -> Kind:
    """What calls of this tool may do, as the policy sees them."""
    if tool.command:
        return Kind.COMMAND
    if tool.read_only:
        return Kind.READ
    return Kind.EDIT if tool.edits else Kind.OTHER
