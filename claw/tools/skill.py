"""skill: loads the instructions for a kind of work, when there is such work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from claw.errors import ToolError
from claw.tools.base import Arguments, Tool, ToolContext
from claw.tools.skill_file import read_skill
from claw.tools.workspace import Workspace
from claw.values import frozen


@frozen
class Skill:
    """A folder with a SKILL.md. anchor: below it no link may lead to that file; None: any may."""

    name: str
    description: str
    folder: Path
    anchor: Path | None


def skill_tool(workspace: Workspace, skills: Sequence[Skill]) -> Tool:
    """The `skill` tool, bound to a workspace: once a skill is loaded, the files of its folder may
    be read unasked. The system prompt must name the skills."""
    by_name = {skill.name: skill for skill in skills}

    def run(arguments: Arguments, context: ToolContext) -> str:
        skill = by_name[arguments["name"]]
        try:
            text = read_skill(skill.folder, skill.anchor)
        except ToolError as error:
            raise ToolError(f"the skill {skill.name} can't be used: {error.message}") from None
        workspace.lend(skill.folder)
        cut = "\n\n(the rest is left out: it is over 64 kB)" if text.cut else ""
        return (
            f"The skill {skill.name}. Paths in it are relative to its folder, {skill.folder}, "
            f"whose files you can read.\n\n{text.body}{cut}"
        )

    return Tool(
        "skill",
        "Loads a skill: instructions for a certain kind of work, to be followed while you do it.",
        _parameters(sorted(by_name)),
        run,
        read_only=True,
    )


def _parameters(names: Sequence[str]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"type": "string", "enum": list(names)}},
        "required": ["name"],
        "additionalProperties": False,
    }
