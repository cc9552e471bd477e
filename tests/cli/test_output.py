"""Standard output of `run`, reporter by reporter."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from claw import CancelToken, Engine, Session, ToolOutput, allow_all, tool
from claw.cli.output import StandardOutput, output_for
from claw.providers import ScriptedProvider, text_turn, tool_turn


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


@tool
def measure(unit: float) -> ToolOutput:
    """Measures."""
    return ToolOutput("nothing", details={"mean": math.nan, "worst": [math.inf]})


@pytest.mark.parametrize("mode", ["jsonl", "json"])
def test_what_python_has_beyond_json_is_null(pipe: tuple[int, int], mode: str) -> None:
    """A tool's details, or the arguments of somebody's own provider."""
    reading, writing = pipe
    with closing(StandardOutput(writing, CancelToken())) as stdout:
        provider = ScriptedProvider(tool_turn("measure", unit=math.nan), text_turn("Done"))
        engine = Engine(provider, tools=[measure], approver=allow_all)
        engine.run(Session(), "go", reporter=output_for(mode, stdout))
    lines = [
        json.loads(line, parse_constant=pytest.fail)
        for line in os.read(reading, 65536).decode().splitlines()
    ]
    assert lines[-1]["tool_calls"][0]["arguments"] == {"unit": None}
    details = [line["details"] for line in lines if line.get("type") == "tool_finished"]
    if mode == "jsonl":
        assert details == [{"mean": None, "worst": [None]}]
