"""Who decides whether a call may run: Decision, Approver, and the ready-made ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from claw.cancel import CancelToken
from claw.events import RunStatus
from claw.messages import ToolCall
from claw.tools.base import Tool, ToolContext
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
count) and may raise Cancelled. The tool's `preview` and `caution` know the run's own context,
whatever context they are called with. ToolError says that the call can't work (a preview found
out): the model gets its words. Anything else it raises ends the run and reaches the caller."""


def allow_all(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
    """Allows every call."""
    return Decision(True)


def deny_all(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
    """Denies every call, read-only ones too; the run goes on."""
    return Decision(False, "no approval was given: this run may not use tools")


class Rules:
    """Lets reads pass unasked, remembers what was granted, and leaves the rest to `ask`.

    A call that its tool has a caution about (a path outside the workspace) is always asked about.
    Grants hold as long as this object: a tool by name; for `bash` the identical text.
    """

    def __init__(self, ask: Approver = deny_all, *, cwd: Path | None = None) -> None:
        self._ask = ask
        self._cwd = cwd or Path.cwd()
        self._granted: set[tuple[str, str]] = set()

    def __call__(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        context = ToolContext(call, cancel, self._cwd)
        cautioned = tool.caution is not None and tool.caution(call.arguments, context)
        if not cautioned and (tool.read_only or grant_of(call) in self._granted):
            return Decision(True)
        return self._ask(call, tool, cancel)

    def grant(self, call: ToolCall) -> None:
        """From now on calls like this one pass unasked."""
        self._granted.add(grant_of(call))


def grant_of(call: ToolCall) -> tuple[str, str]:
    """What a grant for the session covers: the tool's name, and for bash the command's text."""
    return call.name, str(call.arguments.get("command", "")) if call.name == "bash" else ""
