"""list_files: what is in a folder, as far as it fits on a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

from claw.errors import ToolError
from claw.tools.base import Tool, ToolContext, tool
from claw.tools.descent import kind_at
from claw.tools.globs import JUNK, glob_regex
from claw.tools.path_calls import PathCalls
from claw.tools.state import FILES_FAMILY
from claw.tools.walk import Walk
from claw.tools.words import first_few, one_line
from claw.tools.workspace import Location, Workspace

MOST_LISTED = 1_000
MOST_WALKED = 200_000
IGNORED_NAMED = 5


def list_files_tool(workspace: Workspace) -> Tool:
    """The `list_files` tool, bound to a workspace."""

    paths = PathCalls(workspace, default=".")

    @tool(read_only=True, family=FILES_FAMILY, caution=paths.read_caution)
    def list_files(
        context: ToolContext,
        path: Annotated[str | None, "The folder; the workspace by default"] = None,
        pattern: Annotated[str | None, "Glob, relative to the folder: *.py, src/**/*.ts"] = None,
    ) -> str:
        """Lists the files of a folder and of those below it, sorted.

        Where there are too many, folders are shown with the number of their files. Left out are
        .git, node_modules, virtual environments, caches, and what .gitignore names; to see into a
        folder that is left out, give it as path.
        """
        place = paths.take(context, path).place
        if kind_at(place) != "folder":
            raise ToolError(f"{place.name} is a {kind_at(place)}, not a folder: use read_file")
        try:
            wanted = re.compile(glob_regex(pattern or "**"), re.DOTALL)
        except ValueError as error:
            raise ToolError(str(error)) from None
        walk = Walk(place, JUNK, context.cancel)
        found, is_all = _find(walk, wanted)
        lines = found if pattern or len(found) <= MOST_LISTED else _by_folder(found)
        shown = [f"{prefix_of(place)}{one_line(line)}" for line in lines[:MOST_LISTED]]
        if not found:
            shown = [f"no file in {place.name} matches {pattern}" if pattern else "(no files)"]
        if len(lines) > MOST_LISTED:
            shown.append(f"[... {len(lines) - MOST_LISTED:,} more: narrow the pattern or the path]")
        if not is_all:
            shown.append(f"[only the first {MOST_WALKED:,} files were looked at]")
        if walk.ignored:
            shown.append(f"[left out by .gitignore: {_named(walk.ignored)}]")
        return "\n".join(shown)

    return list_files


def prefix_of(place: Location) -> str:
    """What stands in front of a path in this folder, so that other tools can take it."""
    return "" if place.name == "." else f"{place.name.rstrip('/')}/"


def _find(walk: Walk, wanted: re.Pattern[str]) -> tuple[list[str], bool]:
    """The paths that match, and whether all files were looked at."""
    found: list[str] = []
    with closing(walk.files()) as files:
        for count, path in enumerate(files):
            if count == MOST_WALKED:
                return found, False
            if wanted.fullmatch(path):
                found.append(path)
    return found, True


def _named(ignored: Sequence[str]) -> str:
    return first_few([one_line(each) for each in ignored], IGNORED_NAMED)


def _by_folder(paths: Sequence[str]) -> list[str]:
    """The first parts of many paths: files as they are, folders with the number of their files."""
    counts = Counter(path.split("/", 1)[0] + "/" * ("/" in path) for path in paths)
    return [
        f"{name} ({count:,} file{'s' * (count != 1)})" if name.endswith("/") else name
        for name, count in counts.items()
    ]
