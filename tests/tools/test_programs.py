"""Which programs claw starts by itself: none that lies, or is reached, where commands write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import claw
from claw.tools.programs import folders_of_path, trusted_program, trusted_python
from tests.support.toolbox import Toolbox

PLANTED = "#!/bin/sh\nprintf 'planted\\0001:planted\\n'\n"
# It searches after its own Python and its own searcher were replaced, as a command could have.
SEARCHES = """
import sys
from pathlib import Path
from claw.cancel import CancelToken
from claw.messages import ToolCall
from claw.tools.base import ToolContext
from claw.tools.search import search_tool
from claw.tools.workspace import Workspace

root = Path(sys.argv[1])
search = search_tool(Workspace(root))
for path in (root / ".venv/bin/python", root / "claw/tools/scan.py"):
    path.unlink()
    path.write_text(sys.argv[2])
    path.chmod(0o755)
context = ToolContext(ToolCall("1", "search"), CancelToken(), root, {"PATH": sys.argv[3]})
print(search.run({"pattern": "nee.le$", "glob": "*.txt"}, context))
"""


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    (tmp_path / "ws/.venv/bin").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "ws/a.txt").write_text("needle\n")
    return tmp_path / "ws"


def plant(folder: Path, name: str = "rg") -> Path:
    program = folder / name
    program.write_text(PLANTED)
    program.chmod(0o755)
    return program


def test_a_searcher_that_commands_could_have_written_is_not_run(ws: Path, tmp_path: Path) -> None:
    path = os.pathsep.join((str(ws / ".venv/bin"), str(tmp_path / "out")))
    box = Toolbox(ws, env={"PATH": path})
    plant(ws / ".venv/bin")
    assert box.text("search", pattern="needle") == "a.txt:1: needle"
    plant(tmp_path / "out")  # the user's own: this one is run
    assert box.text("search", pattern="needle") == "planted:1: planted"
    box.close()


def test_no_part_of_the_way_to_a_program_may_lie_in_a_root(ws: Path, tmp_path: Path) -> None:
    inside, outside = plant(ws), plant(tmp_path, "real")

    def found(path: Path) -> Path | None:
        return trusted_program(path.name, [path.parent], [ws])

    def link(name: str, target: str | Path) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(target)
        return path

    (ws / "hop").symlink_to(outside)
    assert found(outside) == outside
    assert found(link("good", "out/../real")) == tmp_path / "good"
    assert found(inside) is None
    assert found(link("to-inside", inside)) is None
    assert found(link("there-and-back", ws / "hop")) is None
    assert found(link("through", "ws/../real")) is None
    assert found(link("folder", ws) / "rg") is None
    assert found(link("loop", "loop")) is None
    outside.chmod(0o644)
    assert found(outside) is None
    assert found(ws.parent) is None  # a folder


def test_the_first_that_may_be_used_is_used(ws: Path, tmp_path: Path) -> None:
    plant(ws)
    real = plant(tmp_path / "out")
    folders = folders_of_path({"PATH": f"{ws}:relative::{tmp_path / 'out'}"})
    assert folders == (ws, tmp_path / "out")
    assert trusted_program("rg", folders, [ws]) == real


def test_python_is_the_one_beneath_a_virtual_environment(ws: Path, tmp_path: Path) -> None:
    ours = Path(os.path.realpath(sys.executable))
    assert trusted_python([], [ws]) == ours
    assert trusted_python([], [ours.parent]) is None
    other = plant(tmp_path / "out", "python3")
    assert trusted_python([tmp_path / "out"], [ours.parent]) == other


def test_claw_in_the_workspace_searches_with_what_it_was_started_with(ws: Path) -> None:
    shutil.copytree(Path(claw.__file__).parent, ws / "claw")
    python = ws / ".venv/bin/python"
    python.symlink_to(os.path.realpath(sys.executable))
    done = subprocess.run(
        [python, "-B", "-c", SEARCHES, str(ws), PLANTED, str(ws / ".venv/bin")],
        env={"PYTHONPATH": str(ws)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("a.txt:1: needle\n", "")
