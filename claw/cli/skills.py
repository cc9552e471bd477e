"""Which skills there are: the user's own, and those of a project that the user trusts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from claw.errors import ToolError
from claw.tools.skill import Skill
from claw.tools.skill_file import SKILL_FILE, read_skill
from claw.values import frozen

SKILLS = "skills"
PROJECT_SKILLS = ".claw/skills"
FOLDERS_LOOKED_AT = 200
LIST_CHARS = 16_000

SECTION = """\


Skills are instructions for a certain kind of work. Where one fits, load it with the tool `skill` \
before you begin, and follow it:

{lines}"""


@frozen
class Skills:
    """The skills that are offered, by name, and lines to tell."""

    offered: tuple[Skill, ...] = ()
    notices: tuple[str, ...] = ()

    def section(self) -> str:
        """What the system prompt says of them; "" where there are none. The same bytes for the
        same skills."""
        lines = "\n".join(map(_line, self.offered))
        return SECTION.format(lines=lines) if lines else ""


def find_skills(config: Path, project: Path | None) -> Skills:
    """Looks into claw's config folder, and into `project`, a folder that the user trusts.

    A skill that can't be used is a notice, and so is a project's that has the name of the user's
    own: that one stays. The list in the prompt is bounded; what doesn't fit is named.
    """
    found: dict[str, Skill] = {}
    notices: list[str] = []
    sources: list[tuple[Path, Path | None]] = [(config / SKILLS, None)]
    if project is not None:
        root = Path(os.path.realpath(project))
        sources.append((root / PROJECT_SKILLS, root))
    for source, anchor in sources:
        for folder in _folders(source, notices):
            try:
                text = read_skill(folder, anchor)
            except ToolError as error:
                notices.append(f"the skill in {folder} is not offered: {error.message}")
                continue
            if text.name in found:
                notices.append(f"the skill in {folder} is not offered: you have one of that name")
            else:
                found[text.name] = Skill(text.name, text.description, folder, anchor)
    by_name = [found[name] for name in sorted(found)]
    offered = tuple(_fitting(by_name))
    if len(offered) < len(by_name):
        names = ", ".join(skill.name for skill in by_name[len(offered) :])
        notices.append(f"these skills are not offered, the list is too long: {names}")
    return Skills(offered, tuple(notices))


def _folders(source: Path, notices: list[str]) -> list[Path]:
    """The folders with a SKILL.md, in order; what else lies there is none of our business."""
    try:
        names = sorted(name for name in os.listdir(source) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        notices.append(f"{source} is not read: {error.strerror}")
        return []
    there = (source / name for name in names if os.path.lexists(source / name / SKILL_FILE))
    folders = list(islice(there, FOLDERS_LOOKED_AT + 1))
    if len(folders) > FOLDERS_LOOKED_AT:
        notices.append(f"{source} has more than {FOLDERS_LOOKED_AT} skills: the rest is not read")
    return folders[:FOLDERS_LOOKED_AT]


def _fitting(skills: list[Skill]) -> Iterator[Skill]:
    room = LIST_CHARS
    for skill in skills:
        room -= len(_line(skill)) + 1
        if room < 0:
            return
        yield skill


def _line(skill: Skill) -> str:
    return f"- {skill.name}: {skill.description}"
