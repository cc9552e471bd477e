"""task: a sub-agent. A part of the work in a conversation of its own; its last text comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from claw.engine.nested import NestingTool
from claw.errors import ToolError
from claw.tools.base import Arguments, Tool, ToolContext, ToolRegistry

if TYPE_CHECKING:
    from claw.engine.engine import Engine

TASK = "task"
TASK_STEPS = 20
TASK_TOKENS = 400_000

DESCRIPTION = """\
Gives a part of the work to a sub-agent with a conversation of its own, and returns its report.

For questions that take much reading and have a short answer: it keeps the reading out of your \
conversation. It knows nothing of what was said here, so the prompt must hold all it needs: paths, \
names, what to find out, and what to report. It can {can}. It can't start tasks."""

PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "A few words for the user"},
        "prompt": {"type": "string", "description": "The whole task", "minLength": 1},
    },
    "required": ["description", "prompt"],
    "additionalProperties": False,
}

RULES = """\


You are a sub-agent: another agent gave you the task below, and the user doesn't read what you \
say. Use only the tools that you are offered now, whatever is said of others above. You have \
{steps} replies. Your last one is all that comes back: a report that stands by itself, short, with \
paths and line numbers where they matter, and with what you could not find out."""


def task_tool(
    *,
    max_steps: int = TASK_STEPS,
    max_tokens: int = TASK_TOKENS,
    may_use: Callable[[Tool], bool] | None = None,
) -> Tool:
    """The `task` tool, for the tools of an Engine: each call is a run of its own with that
    engine's model, approver and folder, in a fresh session, beside no other call.

    max_steps, max_tokens: limits of one task; tokens are those in and out of all its requests.
    may_use: which of the engine's tools a task is offered; by default those that only read. No
    task gets a task. The call itself passes as one that only reads: each call within is asked
    about as usual.
    """

    def inner(engine: Engine) -> Engine:
        allowed = may_use or _only_reads
        offered = [t for t in engine.tools if not isinstance(t, NestingTool) and allowed(t)]
        child = copy(engine)
        child.tools = ToolRegistry(offered)
        child.system = engine.system + RULES.format(steps=max_steps)
        child.max_steps = max_steps
        child.steering = None
        return child

    return NestingTool(
        TASK,
        DESCRIPTION.format(can="read and search, and change nothing" if may_use is None else "act"),
        PARAMETERS,
        _without_engine,
        read_only=True,
        caller_thread=True,
        inner=inner,
        token_limit=max_tokens,
    )


def _only_reads(tool: Tool) -> bool:
    return tool.read_only


def _without_engine(arguments: Arguments, context: ToolContext) -> str:
    raise ToolError("a task needs an engine that starts it")
