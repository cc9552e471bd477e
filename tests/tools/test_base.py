"""@tool and ToolRegistry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest

from claw.cancel import CancelToken
from claw.errors import ConfigError
from claw.messages import ToolCall
from claw.tools.base import ToolContext, ToolOutput, ToolRegistry, tool


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
