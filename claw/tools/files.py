"""read_file and write_file."""

from __future__ import annotations

import codecs
import os
from typing import Annotated

from claw.errors import ToolError
from claw.tools.base import Arguments, Tool, ToolContext, tool
from claw.tools.change import change_to_make, change_to_show
from claw.tools.descent import in_words, open_regular
from claw.tools.diff import unified_diff
from claw.tools.page import LARGEST_READ, TOO_MANY, read_page
from claw.tools.path_calls import PathCalls
from claw.tools.seen import seen_in
from claw.tools.state import FILES_FAMILY
from claw.tools.workspace import Location, Workspace

LOOKED_AT_BYTES = 8_192


def read_file_tool(workspace: Workspace) -> Tool:
    """The `read_file` tool, bound to a workspace."""

    paths = PathCalls(workspace)

    @tool(read_only=True, family=FILES_FAMILY, caution=paths.read_caution)
    def read_file(
        path: Annotated[str, "Relative to the workspace, or absolute"],
        context: ToolContext,
        start_line: Annotated[int | None, "First line, counted from 1"] = None,
        end_line: Annotated[int | None, "Last line, included"] = None,
    ) -> str:
        """Reads a text file. Each line comes with its number and a tab in front.

        At most 2000 lines or 64 kB at once; the result says how to get the rest.
        """

        first = 1 if start_line is None else start_line
        if first < 1 or (end_line is not None and end_line < first):
            raise ToolError("start_line counts from 1, and end_line can't be before it")
        place = paths.take(context, path).place
        try:
            with open_regular(place) as file:
                size = os.fstat(file.fileno()).st_size
                _refuse_unreadable(place, size, file.peek()[:LOOKED_AT_BYTES])
                page = read_page(file, first, end_line, context.cancel)
        except OSError as error:
            raise in_words(error, "read", place.name) from None
        seen_in(context.state).note(place, page.digest)
        if not page.total:
            return f"({place.name} is empty)"
        if not page.lines:
            raise ToolError(f"{place.name} has only {page.total:,} lines")
        return page.text()

    return read_file


def write_file_tool(workspace: Workspace) -> Tool:
    """The `write_file` tool, bound to a workspace."""

    paths = PathCalls(workspace)

    def preview(arguments: Arguments, context: ToolContext) -> str | None:
        after = encoded(arguments["content"])
        change = change_to_show(paths, context, arguments["path"])
        nothing_to_show = "is new and empty" if change.before is None else "already holds just this"
        name = change.place.name
        return unified_diff(change.before, after, name) or f"{name} {nothing_to_show}"

    @tool(
        family=FILES_FAMILY,
        edits=True,
        preview=preview,
        caution=paths.write_caution,
        protected=paths.write_protected,
    )
    def write_file(
        path: Annotated[str, "Relative to the workspace, or absolute"],
        content: Annotated[str, "The whole content, written exactly as it is"],
        context: ToolContext,
    ) -> str:
        """Writes a whole file, new or over an old one; missing folders are made.

        To change a part of a file, use edit_file.
        """
        after = encoded(content)
        change = change_to_make(paths, context, path)
        change.save(after)
        if change.before is None:
            return f"created {change.place.name}: {counted(after)}"
        before = f"{counted(change.before)}{change.broken_link}"
        return f"overwrote {change.place.name}: {counted(after)}, before {before}"

    return write_file


def encoded(text: str) -> bytes:
    """The text as UTF-8; ToolError for half of a surrogate pair, which no file can hold."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise ToolError(f"the text holds {bad!r}, which is no character: leave it out") from None


def counted(data: bytes) -> str:
    """`12 lines`, a last line without an end included."""
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return f"{lines:,} line{'s' * (lines != 1)}"


def _refuse_unreadable(place: Location, size: int, start: bytes) -> None:
    """ToolError for a file that can't be shown as lines of text, with what else can be done."""
    if size > LARGEST_READ:
        raise ToolError(f"{place.name} has {size:,} bytes, {TOO_MANY}")
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ToolError(f"{place.name} is UTF-16 text: convert it, for example with iconv in bash")
    if b"\0" in start:
        raise ToolError(
            f"{place.name} is binary ({size:,} bytes, it begins with {start[:8].hex(' ')}): "
            "use bash, for example with file or xxd"
        )
