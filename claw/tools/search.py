"""search: a regex over files, by ripgrep where it is installed, else by Python (scan.py).

Which files are searched is decided by walk.py alone, and they are handed to the searcher by name:
both see the same files in the same order, and the same as list_files. Nobody is asked about a
search, so neither is a program that a command could have changed (programs.py).
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

from claw.errors import ToolError
from claw.tools.base import Tool, ToolContext, tool
from claw.tools.descent import kind_at, not_a_file
from claw.tools.environment import plain_environment
from claw.tools.globs import JUNK, glob_regex
from claw.tools.listing import prefix_of
from claw.tools.path_calls import PathCalls
from claw.tools.process_groups import groups_in
from claw.tools.programs import folders_of_path, trusted_program, trusted_python
from claw.tools.state import SHELL_FAMILY
from claw.tools.walk import Walk
from claw.tools.words import one_line
from claw.tools.workspace import Workspace

MOST_MATCHES = 200
RESULT_BYTES = 40_000
LINE_CHARS = 400
HELD_BYTES = 1_000_000
SAID_CHARS = 1_000
TIMEOUT_S = 60.0
BATCH_BYTES = 100_000  # a system takes 128 kB of arguments and environment at the least
RIPGREP_FAILED = 2
SCAN = Path(__file__).with_name("scan.py")
RIPGREP = (
    "--null",
    "--line-number",
    "--with-filename",
    "--no-heading",
    "--color=never",
    "--threads=1",
    "--no-config",
    "--no-mmap",
    "--crlf",
    "--encoding=none",
    "--max-filesize=100M",
)


def search_tool(workspace: Workspace) -> Tool:
    """The `search` tool, bound to a workspace. It starts processes, so it shares bash's state."""
    paths, searchers = PathCalls(workspace, default="."), _Searchers(workspace)

    @tool(read_only=True, family=SHELL_FAMILY, caution=paths.read_caution)
    def search(
        pattern: Annotated[str, "Regular expression, matched within a line; (?i) ignores case"],
        context: ToolContext,
        path: Annotated[str | None, "A folder or a file; the workspace by default"] = None,
        glob: Annotated[str | None, "Only files like this: *.py, src/**/*.ts"] = None,
    ) -> str:
        """Searches text files for a regular expression; gives `path:line: text`, sorted.

        At most 200 lines. Left out are binary files, .git, node_modules, virtual environments,
        caches, and what .gitignore names; to search in what is left out, give it as path.
        """
        place = paths.take(context, path).place
        kind = kind_at(place)
        if kind not in ("file", "folder"):
            raise ToolError(not_a_file(place.name, kind))
        try:
            wanted = re.compile(glob_regex(glob or "**"), re.DOTALL)
        except ValueError as error:
            raise ToolError(str(error)) from None
        if kind == "file":
            folder = place.real.parent
            found = _Found(place.name.removesuffix(place.real.name))
            return _search(pattern, folder, [place.real.name], found, searchers, context)
        walk = Walk(place, JUNK, context.cancel)
        with closing(walk.files(regular=True)) as files:
            chosen = filter(wanted.fullmatch, files)
            found = _Found(prefix_of(place))
            return _search(pattern, place.real, chosen, found, searchers, context)

    return search


class _Searchers:
    """The programs that may search. Any thread may ask."""

    def __init__(self, workspace: Workspace) -> None:
        self._roots = workspace.roots
        # Before any command runs: a file of claw's may lie in the workspace, as its Python may.
        self._program = SCAN.read_text()
        self._python = trusted_python(folders_of_path(os.environ), self._roots)

    def ripgrep(self, context: ToolContext) -> Path | None:
        return trusted_program("rg", folders_of_path(context.env), self._roots)

    def python_argv(self, pattern: str, files: Sequence[str]) -> list[str]:
        """ToolError where there is none."""
        if self._python is None:
            raise ToolError(
                "nothing can search here: there is neither ripgrep nor Python outside of the "
                "folders that commands write in; use grep in bash"
            )
        return [str(self._python), "-I", "-S", "-c", self._program, json.dumps(pattern), *files]


class _Found:
    """Reads `path NUL line : text` as it comes, and keeps what fits."""

    def __init__(self, prefix: str) -> None:
        self.lines: list[str] = []
        self.said = ""
        self.timed_out = False
        self._prefix = prefix
        self._room = RESULT_BYTES
        self._held = b""

    @property
    def full(self) -> bool:
        return len(self.lines) >= MOST_MATCHES or self._room <= 0

    def begin(self) -> None:
        """Another searcher comes."""
        self.said, self._held = "", b""

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
        if self.timed_out:
            notes.append(f"[gave up after {TIMEOUT_S:g} s: narrow the path, glob or pattern]")
        return "\n".join([*self.lines, *notes]) or "no matches"

    def _take(self, line: bytes) -> None:
        path, is_match, rest = line.partition(b"\0")
        if not is_match:  # the searcher's own words
            if len(self.said) < SAID_CHARS:
                self.said += f"{line[:LINE_CHARS].decode('utf-8', 'replace')}\n"
            return
        number, _, content = rest.partition(b":")
        name = one_line(path.removeprefix(b"./").decode("utf-8", "surrogateescape"))
        shown = content[: 4 * LINE_CHARS].decode("utf-8", "replace").rstrip("\r")
        shown = shown if len(shown) <= LINE_CHARS else f"{shown[:LINE_CHARS]}…"
        self.lines.append(f"{self._prefix}{name}:{number.decode()}: {shown}")
        self._room -= len(self.lines[-1].encode())


def _search(
    pattern: str,
    folder: Path,
    files: Iterable[str],
    found: _Found,
    searchers: _Searchers,
    context: ToolContext,
) -> str:
    """Searches `files`, relative to `folder`, until enough is found or the time is up."""
    ends_at = time.monotonic() + TIMEOUT_S
    ripgrep = searchers.ripgrep(context)
    for batch in _batches(files):
        lines = len(found.lines)
        if ripgrep:
            code = _run(_ripgrep_argv(ripgrep, pattern, batch), folder, ends_at, found, context)
        # Without ripgrep, or with a pattern that it doesn't know, such as a look-behind.
        if not ripgrep or (code == RIPGREP_FAILED and len(found.lines) == lines):
            code = _run(searchers.python_argv(pattern, batch), folder, ends_at, found, context)
            if code:
                raise ToolError(found.said.strip() or f"the search failed: exit {code}")
            ripgrep = None
        if found.full or found.timed_out:
            break
    return found.text()


def _batches(files: Iterable[str]) -> Iterator[list[str]]:
    """As many as fit on one command line; ./ in front, so that none is taken for an option."""
    batch: list[str] = []
    size = 0
    for file in files:
        batch.append(f"./{file}")
        size += len(file.encode("utf-8", "surrogateescape")) + 16
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _run(
    argv: Sequence[str], folder: Path, ends_at: float, found: _Found, context: ToolContext
) -> int | None:
    """Runs a searcher until `found` is full; its exit code, None if it was stopped. Raises
    Cancelled."""
    from claw.tools.process import run_process  # see shell.py

    found.begin()
    with context.cancel.child() as enough:

        def take(data: bytes) -> None:
            found.feed(data)
            if found.full:
                enough.cancel("enough")

        try:
            result = run_process(
                argv,
                cwd=folder,
                env=plain_environment(context.env),
                cancel=enough,
                timeout=max(0.0, ends_at - time.monotonic()),
                groups=groups_in(context.state),
                on_output=take,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"the search could not be started: {error}") from None
    context.cancel.raise_if_cancelled()
    found.timed_out = result.stopped == "timeout"
    return None if result.stopped else result.exit_code


def _ripgrep_argv(ripgrep: Path, pattern: str, files: Sequence[str]) -> list[str]:
    return [str(ripgrep), *RIPGREP, "-e", pattern, "--", *files]
