"""The safety cases that the built-in tools answer for, through a real engine."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from claw import CancelToken, Decision, Engine, Reporter, Session, ToolCall, ToolResult
from claw.approval import Rules
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.tools import coding_tools
from claw.tools.base import Tool
from claw.tools.sandbox import find_sandbox
from tests.support.processes import gone_within

CASES = Path(__file__).parent.parent / "cases" / "safety"
KINDS = {"edit", "shell", "secrets", "special-file", "path-escape"}
TOOLS = {"read_file", "write_file", "edit_file", "bash"}
# Where the case is about what the tool does; elsewhere a question is answered with no.
APPROVED = {"edit", "shell", "secrets"}
Case = dict[str, Any]
PLAYED_ELSEWHERE = {
    **{f"approval-{number:02}": "tests/policy/test_table.py" for number in range(1, 11)},
    **{f"config-{number:02}": "tests/cli/test_trust_cases.py" for number in (1, 2)},
    **{f"render-{number:02}": "tests/cli/test_render_cases.py" for number in (1, 2)},
    **{f"session-{number:02}": "tests/store/test_session_cases.py" for number in (1, 2)},
}


def every_case() -> list[Case]:
    return [json.loads(path.read_text()) for path in sorted(CASES.glob("*.json"))]


def load_cases() -> list[Case]:
    return [c for c in every_case() if c["kind"] in KINDS and c["action"].get("tool") in TOOLS]


def test_every_case_is_played_here_or_elsewhere() -> None:
    played = {case["name"] for case in load_cases()}
    left = {"-".join(case["name"].split("-")[:2]) for case in every_case()} - {
        "-".join(name.split("-")[:2]) for name in played
    }
    assert left == PLAYED_ELSEWHERE.keys()
    for home in PLAYED_ELSEWHERE.values():
        assert (CASES.parents[2] / home).exists()


class Results(Reporter):
    """Keeps the results alone: a MemoryReporter would keep 300 MB of live output too."""

    def __init__(self) -> None:
        self.seen: list[ToolResult] = []

    def on_tool_result(self, call: ToolCall, result: ToolResult) -> None:
        self.seen.append(result)


@dataclass
class Outcome:
    result: ToolResult
    exit_code: int | None
    took_s: float
    grew_mb: float
    asked: bool


@pytest.fixture(autouse=True)
def silent_standard_input() -> Iterator[None]:
    """Standard input is open and sends nothing, as a waiting user's does."""
    saved, (read_end, write_end) = os.dup(0), os.pipe()
    os.dup2(read_end, 0)
    yield
    os.dup2(saved, 0)
    for descriptor in (saved, read_end, write_end):
        os.close(descriptor)


@pytest.mark.parametrize("mode", ["off", "auto"])
@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case["name"])
def test_case(case: Case, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the sandbox that there is here, and without."""
    places = {"$OUT": tmp_path / "out", "$HOME": tmp_path / "home", "$WS": tmp_path / "ws"}
    for folder in places.values():
        folder.mkdir()
    case = with_places(case, places)
    monkeypatch.setenv("HOME", str(places["$HOME"]))
    lay_out(case["setup"], places["$WS"])
    with Session() as session:
        outcome = play(case, places["$WS"], session, mode)
    groups = case["expect"].pop("any_of", [{}])
    assert unmet(case["expect"], outcome, places["$WS"]) == []
    assert [] in [unmet(group, outcome, places["$WS"]) for group in groups]


def with_places(value: Any, places: dict[str, Path]) -> Any:
    """The case with real paths for $WS, $OUT and $HOME, in every string, keys too."""
    if isinstance(value, str):
        for mark, folder in places.items():
            value = value.replace(mark, str(folder))
        return value
    if isinstance(value, dict):
        return {with_places(k, places): with_places(v, places) for k, v in value.items()}
    return [with_places(item, places) for item in value] if isinstance(value, list) else value


def lay_out(setup: Case, root: Path) -> None:
    for name in setup.get("dirs", []):
        (root / name).mkdir(parents=True)
    for name, content in setup.get("files", {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(as_bytes(content))
    for name in setup.get("fifos", []):
        os.mkfifo(root / name)
    for name, target in setup.get("symlinks", {}).items():
        (root / name).symlink_to(target)
    for name, mode in setup.get("modes", {}).items():
        (root / name).chmod(int(mode, 8))


def as_bytes(content: str | dict[str, str]) -> bytes:
    return content.encode() if isinstance(content, str) else bytes.fromhex(content["hex"])


def play(case: Case, root: Path, session: Session, mode: str) -> Outcome:
    name, arguments = case["action"]["tool"], dict(case["action"]["arguments"])
    if name == "edit_file":
        path = arguments.pop("path")
        arguments = {"path": path, "edits": [arguments]}
    asked = []

    def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        asked.append(call)
        return Decision(case["kind"] in APPROVED, "no")

    engine = Engine(
        ScriptedProvider(tool_turn(name, **arguments), text_turn("done")),
        tools=coding_tools(root, sandbox=find_sandbox(mode, workspace=root)),
        approver=Rules(ask, cwd=root),
        cwd=root,
        env={**os.environ, "CLAW_API_KEY": case["setup"].get("provider_key", "")},
    )
    results, began, peak = Results(), time.monotonic(), peak_mb()
    engine.run(session, "go", reporter=results)
    took = time.monotonic() - began
    (result,) = results.seen
    first = result.content.split()
    code = int(first[2]) if first[:2] == ["exit", "code"] else None
    return Outcome(result, code, took, peak_mb() - peak, bool(asked))


def unmet(expect: Case, outcome: Outcome, root: Path) -> list[str]:
    """The fields that don't hold; a field that isn't known counts as one."""
    text = outcome.result.content
    holds = {
        # The cases let a refusal count as well; claw refuses none of these outright.
        "needs_approval": lambda want: want == outcome.asked,
        "is_error": lambda want: want == outcome.result.is_error,
        "contains": lambda want: all(part in text for part in want),
        "output_lacks": lambda want: not any(part in text for part in want),
        "exit_code": lambda want: want == outcome.exit_code,
        "output_is_valid_utf8": lambda want: bool(text.encode()) is want,
        "output_max_bytes": lambda want: len(text.encode()) <= want,
        "returns_within_s": lambda want: outcome.took_s <= want,
        "peak_rss_growth_mb": lambda want: outcome.grew_mb <= want,
        "no_process_left": lambda want: gone_within(3, want),
        "file_equals": lambda want: all(
            (root / name).read_bytes() == as_bytes(content) for name, content in want.items()
        ),
        "file_absent": lambda want: not any(os.path.lexists(root / name) for name in want),
        "mode_equals": lambda want: all(
            stat.S_IMODE((root / name).stat().st_mode) == int(mode, 8)
            for name, mode in want.items()
        ),
    }
    return [f"{field}: {want}" for field, want in expect.items() if not holds[field](want)]


def peak_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))
