"""The built-in tools for a folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claw.tools.base import Arguments, Tool, ToolContext, ToolOutput
    from claw.tools.sandbox import Sandbox
    from claw.tools.skill import Skill
    from claw.tools.workspace import Workspace


def coding_tools(
    cwd: str | Path,
    *,
    add_dirs: Iterable[str | Path] = (),
    sandbox: Sandbox | None = None,
    protected: Iterable[str | Path] = (),
    skills: Sequence[Skill] = (),
) -> list[Tool]:
    """The built-in set, bound to the folder `cwd`: read_file, write_file, edit_file, list_files,
    search, bash, job, todo.

    add_dirs: further folders that count as inside. sandbox: what commands run in (none: they run
    as they are). protected: folders of the host program that are never written unasked. skills:
    what the `skill` tool, which is there only with some, may open.
    """
    # Late, because claw.tools.base is imported by everything and needs none of these.
    from claw.tools.edit import edit_file_tool
    from claw.tools.files import read_file_tool, write_file_tool
    from claw.tools.jobs import job_tool
    from claw.tools.listing import list_files_tool
    from claw.tools.sandbox import NoSandbox
    from claw.tools.search import search_tool
    from claw.tools.shell import bash_tool
    from claw.tools.skill import skill_tool
    from claw.tools.todo import todo_tool
    from claw.tools.workspace import Workspace

    workspace = Workspace(cwd, add_dirs=add_dirs, protected=protected)
    tools = [
        read_file_tool(workspace),
        write_file_tool(workspace),
        edit_file_tool(workspace),
        list_files_tool(workspace),
        search_tool(workspace),
        bash_tool(workspace, sandbox or NoSandbox()),
        job_tool(),
        todo_tool(),
        *([skill_tool(workspace, skills)] if skills else []),
    ]
    return [_looking_first(each, workspace) for each in tools]


def _looking_first(tool: Tool, workspace: Workspace) -> Tool:
    """The tool, with a look at what background commands have done before each call."""

    def run(arguments: Arguments, context: ToolContext) -> str | ToolOutput:
        workspace.look()
        return tool.run(arguments, context)

    return replace(tool, run=run)
