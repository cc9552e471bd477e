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
from claw.policy import Answer, Grant, Kind, PolicySettings, Request, Verdict
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

    cwd: the folder that the tools are bound to, as in `coding_tools(cwd)`: there commands run, and
    from there it is looked at where their paths lead. settings: mode and rules; may be replaced
    between calls; to read in its `folders` is free, as in `cwd`. Grants hold as long as this
    object: a tool by its name, a command by its identical text.
    """

    def __init__(
        self,
        ask: Approver = deny_all,
        *,
        cwd: str | os.PathLike[str],
        settings: PolicySettings | None = None,
    ) -> None:
        self._ask = ask
        self._cwd = Path(os.path.realpath(cwd))
        self.settings = settings or PolicySettings()

    def __call__(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        verdict = self.verdict(call, tool, cancel)
        if verdict.answer is Answer.ASK:
            return self.ask(call, tool, cancel, verdict)
        return Decision(verdict.answer is Answer.ALLOW, verdict.reason)

    def ask(self, call: ToolCall, tool: Tool, cancel: CancelToken, verdict: Verdict) -> Decision:
        """Decides what the policy leaves open, as an Approver does. For a subclass to override
        that wants to know why it is asked; this one hands the call to the constructor's `ask`."""
        return self._ask(call, tool, cancel)

    def verdict(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Verdict:
        """What the policy says of the call, and why. It sees words alone; where the paths among
        them lead is looked at here."""
        from claw.policy.decision import judge, leads_out  # late: it knows many commands

        folders = (str(self._cwd), *self.settings.folders)
        settings = replace(self.settings, folders=tuple(dict.fromkeys(folders)))
        verdict = judge(self._request(call, tool, cancel), settings)
        for path in verdict.reads:
            real = Path(os.path.realpath(self._cwd / path))
            if not any(real.is_relative_to(folder) for folder in settings.folders):
                return leads_out(path, str(real), settings)
        return verdict

    def grant(self, call: ToolCall, tool: Tool) -> None:
        """From now on calls like this one pass unasked, where their verdict is `grantable`."""
        granted = self.settings.granted | {grant_of(call, tool)}
        self.settings = replace(self.settings, granted=granted)

    def take_back(self, grant: Grant) -> None:
        """Such calls are asked about again."""
        self.settings = replace(self.settings, granted=self.settings.granted - {grant})

    def _request(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Request:
        context = ToolContext(call, cancel, self._cwd)

        def said(about: PreviewFunction | None) -> str:
            return (about and about(call.arguments, context)) or ""

        return Request(
            call.name,
            call.arguments,
            _kind(tool),
            command_line=command_line(call, tool),
            caution=said(tool.caution),
            protected=said(tool.protected),
        )


def grant_of(call: ToolCall, tool: Tool) -> Grant:
    """What a grant for the session covers: the tool, or the identical command if it has one."""
    return Grant(call.name, command_line(call, tool))


def command_line(call: ToolCall, tool: Tool) -> str:
    """The shell command line of a call; "" for a tool that takes none."""
    return str(call.arguments.get(tool.command, "")) if tool.command else ""


def _kind(tool: Tool) -> Kind:
    """What calls of this tool may do, as the policy sees them."""
    if tool.command:
        return Kind.COMMAND
    if tool.read_only:
        return Kind.READ
    return Kind.EDIT if tool.edits else Kind.OTHER
