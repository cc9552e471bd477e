"""The built-in tools for a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claw.tools.base import Tool


def coding_tools(cwd: str | Path) -> list[Tool]:
    """The built-in set, bound to the folder `cwd`: read_file, write_file, edit_file, list_files,
    search, bash."""
    # Late, because claw.tools.base is imported by everything and needs none of these.
    from claw.tools.edit import edit_file_tool
    from claw.tools.files import read_file_tool, write_file_tool
    from claw.tools.listing import list_files_tool
    from claw.tools.search import search_tool
    from claw.tools.shell import bash_tool
    from claw.tools.workspace import Workspace

    workspace = Workspace(cwd)
    return [
        read_file_tool(workspace),
        write_file_tool(workspace),
        edit_file_tool(workspace),
        list_files_tool(workspace),
        search_tool(workspace),
        bash_tool(workspace),
    ]
