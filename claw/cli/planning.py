"""/plan and /go: the model reads and plans, and no more, until the user says go.

Three things say so together: the tools that the model is offered, the policy, which refuses a call
of a tool that it was offered before, and a line above each prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from claw.approval import Rules
from claw.engine import Engine
from claw.tools.base import Tool, ToolRegistry

GO = "Go ahead and do it."
PLANNING = (
    "(Planning: you can read and no more. Find out what you need, and say what you would do; the "
    "user will say when to go ahead.)"
)


def reading_tools(tools: Iterable[Tool]) -> list[Tool]:
    """Those that change nothing. bash isn't one, though some commands only read: a model that is
    offered a shell tries to work with it."""
    return [tool for tool in tools if tool.read_only]


def set_planning(planning: bool, engine: Engine, approver: Rules, tools: Iterable[Tool]) -> None:
    """Begins or ends planning for the calls to come. tools: all that there are."""
    approver.settings = replace(approver.settings, planning=planning)
    engine.tools = ToolRegistry(reading_tools(tools) if planning else tools)


def planning_prompt(prompt: str) -> str:
    """What the model is sent for `prompt` while it plans."""
    return f"{PLANNING}\n\n{prompt}"
