"""Bounds that hold whatever commands do: memory, text to the model, time, and nothing left."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path

import pytest

from claw import Engine, Reporter, Session, ToolCall, ToolResult, allow_all
from claw.events import RunEvent, ToolProgress
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.tools import coding_tools
from tests.support.toolbox import Toolbox

stress = pytest.mark.stress


class Watching(Reporter):
    """Keeps the results and counts the rest, as a terminal does."""

    def __init__(self) -> None:
        self.results: list[ToolResult] = []
        self.heard = 0
        self.longest = 0

    def on_event(self, event: RunEvent) -> None:
        super().on_event(event)
        if isinstance(event, ToolProgress):
            self.heard += len(event.text) + event.dropped
            self.longest = max(self.longest, len(event.text))

    def on_tool_result(self, call: ToolCall, result: ToolResult) -> None:
        self.results.append(result)


@pytest.mark.parametrize("megabytes", [100, pytest.param(1000, marks=stress)])
def test_output_of_any_size_leaves_memory_flat_and_the_result_short(
    tmp_path: Path, megabytes: int
) -> None:
    size = megabytes * 1_000_000
    command = f"echo first; yes {'x' * 99} | head -c {size}; echo; echo last"
    watching, before, began = Watching(), reset_peak_kb(), time.monotonic()
    with Session() as session:
        engine = Engine(
            ScriptedProvider(tool_turn("bash", command=command, timeout_s=60), text_turn("ok")),
            tools=coding_tools(tmp_path),
            approver=allow_all,
            reporter=watching,
        )
        engine.run(session, "go")
    took = time.monotonic() - began
    (result,) = watching.results
    assert result.content.splitlines()[1] == "first"
    assert result.content.endswith("\nlast\n")
    assert len(result.content.encode()) < 50_000
    assert watching.heard > size
    assert watching.longest <= 64_000
    assert peak_kb() - before < 64_000
    assert took < 20


@pytest.mark.parametrize("megabytes", [3, pytest.param(50, marks=stress)])
def test_random_bytes_are_bounded_too(box: Toolbox, megabytes: int) -> None:
    text = box.text("bash", command=f"head -c {megabytes}000000 /dev/urandom")
    assert len(text.encode()) < 50_000


@pytest.mark.parametrize("calls", [100, pytest.param(1000, marks=stress)])
def test_many_calls_leave_nothing(box: Toolbox, calls: int) -> None:
    box.text("bash", command="true")  # what is made once is there from here on
    before = footprint()
    for number in range(calls):
        assert box.text("bash", command=f"echo {number}").endswith(f"\n{number}\n")
    assert footprint() == before


def footprint() -> tuple[int, int, int, int]:
    """Threads, descriptors, children and temp files of this process."""
    children = sum(
        len((task / "children").read_text().split()) for task in Path("/proc/self/task").iterdir()
    )
    descriptors = len(os.listdir("/proc/self/fd"))
    return (
        threading.active_count(),
        descriptors,
        children,
        len(os.listdir(tempfile.gettempdir())),
    )


def reset_peak_kb() -> int:
    """The peak from here on; what it is now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_kb()


def peak_kb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
