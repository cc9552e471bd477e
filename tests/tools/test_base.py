"""@tool and ToolRegistry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest

from claw import CancelToken, Decision, Engine, Session, ToolCall
from claw.approval import Rules
from claw.errors import ConfigError, ToolError
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.tools.base import Arguments, Tool, ToolContext, ToolOutput, ToolRegistry, tool


def context() -> ToolContext:
    return ToolContext(ToolCall("c", "t"), CancelToken(), Path())


def test_a_typed_function_becomes_a_tool() -> None:
    @tool
    def add(a: Annotated[int, "the first"], b: int = 2) -> int:
        """Adds
        two numbers."""
        return a + b

    assert add.name == "add"
    assert add.description == "Adds\ntwo numbers."
    assert add.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "the first"},
            "b": {"type": "integer"},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert add.run({"a": 1}, context()) == "3"
    assert add.run({"a": 1, "b": 1}, context()) == "2"


def test_the_context_is_filled_in_and_left_out_of_the_schema() -> None:
    @tool(name="where", read_only=True, family="places")
    def look(here: ToolContext) -> ToolOutput:
        return ToolOutput(str(here.cwd), details={"n": 1})

    assert look.parameters["properties"] == {}
    assert look.run({}, context()) == ToolOutput(".", details={"n": 1})
    assert (look.name, look.read_only, look.family) == ("where", True, "places")


def test_the_registry_keeps_the_order_and_refuses_a_second_name() -> None:
    @tool
    def one() -> str:
        return ""

    @tool
    def two() -> str:
        return ""

    registry = ToolRegistry([two, one])
    assert registry.names == ("two", "one")
    assert [each.name for each in registry] == ["two", "one"]
    assert registry.get("three") is None
    with pytest.raises(ConfigError, match="'two'"):
        registry.register(two)


@pytest.mark.parametrize("says", ["caution", "protected", "preview"])
def test_what_a_call_is_refused_for_before_it_runs_is_told_to_the_model(says: str) -> None:
    """By whichever of the three: nobody is asked, and the run goes on."""

    def refuse(arguments: Arguments, context: ToolContext) -> str | None:
        raise ToolError("it can't work")

    @tool(**{says: refuse})  # type: ignore[call-overload]
    def strange() -> str:
        return "ran"

    def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        if tool.preview is not None:
            tool.preview(call.arguments, context())
        pytest.fail("asked")

    turns = ScriptedProvider(tool_turn("strange"), text_turn("done"))
    with Session() as session:
        Engine(turns, tools=[strange], approver=Rules(ask, cwd=Path())).run(session, "go")
        (result,) = [each for message in session.messages for each in message.tool_results]
    assert (result.content, result.is_error) == ("it can't work", True)
