"""SKILL.md: a head between two lines of `---`, then the body (agentskills.io/specification).

Of the head only `name` and `description` are read, each on its one line. That needs no YAML, and
what a YAML parser would read otherwise (a value over several lines) is refused, not misread.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from claw.errors import ToolError
from claw.tools.descent import in_words, open_regular
from claw.tools.workspace import Location
from claw.values import frozen

SKILL_FILE = "SKILL.md"
SKILL_BYTES = 64_000
NAME_CHARS = 64
DESCRIPTION_CHARS = 1024
FENCE = "---"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SINGLE_QUOTED = re.compile(r"'((?:[^']|'')*)'")
NOT_PLAIN = tuple("|>&*!{}[]%@`\"'")


@frozen
class SkillText:
    """What a SKILL.md says. cut: its end is missing, for it is too long."""

    name: str
    description: str
    body: str
    cut: bool = False


def read_skill(folder: Path, anchor: Path | None) -> SkillText:
    """Reads the SKILL.md in `folder`, which must be named like the skill. ToolError says what is
    wrong.

    anchor: a folder without links in its path; below it no link may lead to the file. None: links
    are followed, for the skill is the user's own.
    """
    file, real = folder / SKILL_FILE, Path(os.path.realpath(folder / SKILL_FILE))
    if anchor is not None and real != file:
        raise ToolError("its path leads through a link")
    place = Location(real, anchor or real.parent, str(file), inside=False, readable=True)
    try:
        with open_regular(place) as stream:
            data = stream.read(SKILL_BYTES + 1)
    except OSError as error:
        raise in_words(error, "read", place.name) from None
    text = data[:SKILL_BYTES].decode("utf-8", "replace")
    skill = parse_skill(text, cut=len(data) > SKILL_BYTES)
    if skill.name != folder.name:
        raise ToolError(f"its name is {skill.name}, so its folder must be named like that")
    return skill


def parse_skill(text: str, *, cut: bool = False) -> SkillText:
    """The name, the description and the body. ToolError says what is wrong."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    fences = [index for index, line in enumerate(lines) if line.rstrip() == FENCE]
    if not fences or fences[0] != 0:
        raise ToolError(f"it must begin with a line of {FENCE}")
    if len(fences) < 2:
        raise ToolError(f"its head must end with a line of {FENCE}")
    head = _fields(lines[1 : fences[1]])
    name, description = head.get("name", ""), head.get("description", "")
    if not NAME.fullmatch(name) or len(name) > NAME_CHARS:
        raise ToolError(f"its name must be lowercase words joined by hyphens, not {name[:80]!r}")
    if not 0 < len(description) <= DESCRIPTION_CHARS:
        raise ToolError(f"it must have a description of 1 to {DESCRIPTION_CHARS:,} characters")
    body = "\n".join(lines[fences[1] + 1 :]).strip()
    return SkillText(name, description, body, cut)


def _fields(lines: list[str]) -> dict[str, str]:
    """name and description, as far as they are there; other keys and what belongs to them go."""
    found: dict[str, str] = {}
    last = ""
    for line in lines:
        if line[:1] in (" ", "\t"):
            if last and line.strip():
                raise ToolError(f"its {last} must stand on one line")
            continue
        key, colon, value = line.partition(":")
        last = key if key in ("name", "description") else ""
        if not last:
            continue
        if not colon or value[:1].strip():
            raise ToolError(f"its {key} must be written as `{key}: words`")
        if key in found:
            raise ToolError(f"it has two lines with its {key}")
        found[key] = " ".join(_scalar(key, value.strip()).split())
    return found


def _scalar(key: str, value: str) -> str:
    """Plain words as they are, else what stands between quotes."""
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            raise ToolError(f"the quotes of its {key} can't be read") from None
    if quoted := SINGLE_QUOTED.fullmatch(value):
        return quoted[1].replace("''", "'")
    if value.startswith(NOT_PLAIN):
        raise ToolError(f"its {key} must be plain words on one line, or in quotes")
    return value
