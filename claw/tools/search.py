"""search: a regex over files, by ripgrep where it is installed, else by Python (scan.py)."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Annotated

from claw.errors import ToolError
from claw.tools import scan
from claw.tools.base import Arguments, Tool, ToolContext, tool
from claw.tools.globs import JUNK, glob_regex
from claw.tools.groups import groups_in
from claw.tools.listing import prefix_of, printable
from claw.tools.workspace import Location, Workspace, kind_at, not_a_file

MOST_MATCHES = 200
MOST_BYTES = 40_000
LINE_CHARS = 400
HELD_BYTES = 1_000_000
SAID_CHARS = 1_000
TIMEOUT_S = 60.0
RIPGREP_FAILED = 2
RIPGREP = (
    "--null",
    "--line-number",
    "--with-filename",
    "--no-heading",
    "--color=never",
    "--sort=path",
    "--hidden",
    "--no-ignore",
    "--no-config",
    "--max-filesize=100M",
)


def search_tool(workspace: Workspace) -> Tool:
    """The `search` tool, bound to a workspace. It starts processes, so it shares bash's state."""

    def caution(arguments: Arguments, context: ToolContext) -> str | None:
        return workspace.read_caution(arguments.get("path") or ".")

    @tool(read_only=True, family="shell", caution=caution)
    def search(
        pattern: Annotated[str, "Regular expression, matched within a line; (?i) ignores case"],
        context: ToolContext,
        path: Annotated[str | None, "A folder or a file; the workspace by default"] = None,
        glob: Annotated[str | None, "Only files like this: *.py, src/**/*.ts"] = None,
    ) -> str:
        """Searches text files for a regular expression; gives `path:line: text`, sorted.

        At most 200 lines. Left out are binary files, .git, node_modules, virtual environments and
        caches.
        """
        place = workspace.locate(path or ".")
        if kind_at(place) not in ("file", "folder"):
            raise ToolError(not_a_file(place.name, kind_at(place)))
        try:
            regex = glob_regex(glob or "**")
        except ValueError as error:
            raise ToolError(str(error)) from None
        ripgrep = shutil.which("rg", path=context.env.get("PATH"))
        if ripgrep:
            found = _run(_ripgrep_argv(ripgrep, pattern, glob, place), place, context)
            if found.exit_code != RIPGREP_FAILED or found.lines:
                return found.text()
        # Without ripgrep, or with a pattern that it doesn't know, such as a look-behind.
        found = _run(_python_argv(pattern, regex, place), place, context)
        if found.exit_code and not found.stopped:
            raise ToolError(found.said.strip() or f"the search failed: exit {found.exit_code}")
        return found.text()

    return search


class _Found:
    """Reads `path NUL line : text` as it comes, and keeps what fits."""

    def __init__(self, prefix: str) -> None:
        self.lines: list[str] = []
        self.said = ""
        self.exit_code: int | None = None
        self.stopped: str | None = None
        self._prefix = prefix
        self._room = MOST_BYTES
        self._held = b""

    @property
    def full(self) -> bool:
        return len(self.lines) >= MOST_MATCHES or self._room <= 0

    def feed(self, data: bytes) -> None:
        *lines, rest = (self._held + data).split(b"\n")
        self._held = rest[:HELD_BYTES]
        for line in lines:
            if not self.full:
                self._take(line)

    def text(self) -> str:
        notes = []
        if self.full:
            notes.append(f"[stopped after {len(self.lines)} lines, there may be more: narrow it]")
        if self.stopped == "timeout":
            notes.append(f"[gave up after {TIMEOUT_S:g} s: narrow the path, glob or pattern]")
        return "\n".join([*self.lines, *notes]) or "no matches"

    def _take(self, line: bytes) -> None:
        path, is_match, rest = line.partition(b"\0")
        if not is_match:  # the searcher's own words
            if len(self.said) < SAID_CHARS:
                self.said += f"{line[:LINE_CHARS].decode('utf-8', 'replace')}\n"
            return
        number, _, content = rest.partition(b":")
        name = printable(path.removeprefix(b"./").decode("utf-8", "surrogateescape"))
        shown = content[: 4 * LINE_CHARS].decode("utf-8", "replace").rstrip("\r")
        shown = shown if len(shown) <= LINE_CHARS else f"{shown[:LINE_CHARS]}…"
        self.lines.append(f"{self._prefix}{name}:{number.decode()}: {shown}")
        self._room -= len(self.lines[-1].encode())


def _run(argv: list[str], place: Location, context: ToolContext) -> _Found:
    """Runs a searcher in the folder of `place`, until it has found enough. Raises Cancelled."""
    from claw.tools.process import run_process  # see shell.py

    is_folder = place.real.is_dir()
    found = _Found(prefix_of(place) if is_folder else place.name.removesuffix(place.real.name))
    with context.cancel.child() as enough:

        def take(data: bytes) -> None:
            found.feed(data)
            if found.full:
                enough.cancel("enough")

        try:
            result = run_process(
                argv,
                cwd=place.real if is_folder else place.real.parent,
                env=context.env,
                cancel=enough,
                timeout=TIMEOUT_S,
                groups=groups_in(context.state),
                on_output=take,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"the search could not be started: {error}") from None
    context.cancel.raise_if_cancelled()
    found.exit_code, found.stopped = result.exit_code, result.stopped
    return found


def _ripgrep_argv(ripgrep: str, pattern: str, glob: str | None, place: Location) -> list[str]:
    globs = [*([glob] if glob else []), *(f"!{name}" for name in JUNK)]
    target = "./" if place.real.is_dir() else f"./{place.real.name}"
    return [ripgrep, *RIPGREP, *(f"--glob={each}" for each in globs), "-e", pattern, "--", target]


def _python_argv(pattern: str, glob: str, place: Location) -> list[str]:
    if not sys.executable:
        raise ToolError("there is no ripgrep here, and no Python program to search with instead")
    wanted = {"pattern": pattern, "glob": glob, "leave_out": JUNK}
    target = "." if place.real.is_dir() else place.real.name
    return [sys.executable, "-I", "-S", scan.__file__, json.dumps({**wanted, "target": target})]
