"""The built-in set as a whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from claw.tools import coding_tools

NAMES = ["read_file", "write_file", "edit_file", "list_files", "search", "bash", "job", "todo"]
READING = ["read_file", "list_files", "search", "job", "todo"]


def test_names_order_and_who_only_reads() -> None:
    tools = coding_tools(".")
    assert [tool.name for tool in tools] == NAMES
    assert [tool.name for tool in tools if tool.read_only] == READING
    assert [tool.name for tool in tools if tool.caller_thread] == ["todo"]


def test_what_the_model_is_told_is_short_and_the_same_for_every_folder(tmp_path: Path) -> None:
    def told(folder: Path) -> str:
        return json.dumps([[t.name, t.description, t.parameters] for t in coding_tools(folder)])

    assert told(tmp_path) == told(Path("/"))
    assert len(told(tmp_path)) < 5_500


def test_the_tools_are_imported_late() -> None:
    program = "import sys, claw.tools.base; print('claw.tools.shell' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout == "False\n"
