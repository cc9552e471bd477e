"""todo: the plan that the model keeps while it works, for itself and for whoever watches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from claw.errors import ToolError
from claw.tools.base import Tool, ToolContext, ToolOutput, tool

MOST_ITEMS = 50
ITEM_CHARS = 200
MARKS = {"pending": "[ ]", "doing": "[>]", "done": "[x]"}


class TodoItem(TypedDict):
    text: str
    status: Literal["pending", "doing", "done"]


def todo_tool() -> Tool:
    """The `todo` tool. The plan is `items` in its family's state.

    A result's details have it as `todo`, a list of {text, status}, so that a reporter can show it.
    read_only, because nothing outside the session changes and nobody needs to be asked; on the
    caller's thread, so that two plans in one reply stay in their order.
    """

    @tool(read_only=True, caller_thread=True)
    def todo(items: list[TodoItem], context: ToolContext) -> ToolOutput:
        """Keeps the plan of a task of three steps or more. Give the whole list each time.

        The step you work on is doing; set each one to done as soon as it is.
        """
        plan = [TodoItem(text=_line(item["text"]), status=item["status"]) for item in items]
        if len(plan) > MOST_ITEMS:
            raise ToolError(f"a plan of {len(plan)} items is too long: {MOST_ITEMS} at most")
        context.state["items"] = plan
        return ToolOutput(_told(plan), details={"todo": plan})

    return todo


def _line(text: str) -> str:
    """An item's text as one line; ToolError where it is none, or too long for one."""
    line = " ".join(text.split())
    if not line:
        raise ToolError("an item has no text")
    if len(line) > ITEM_CHARS:
        raise ToolError(f"an item is over {ITEM_CHARS} characters: {line[:40]}...")
    return line


def _told(plan: Sequence[TodoItem]) -> str:
    if not plan:
        return "the plan is empty"
    done = sum(item["status"] == "done" for item in plan)
    lines = [f"{MARKS[item['status']]} {item['text']}" for item in plan]
    return "\n".join([f"{done} of {len(plan)} done", *lines])
