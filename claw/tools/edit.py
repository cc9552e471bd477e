"""edit_file: exact replacements on bytes, all of them or none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, NotRequired, TypedDict

from claw.errors import ToolError
from claw.tools.base import Arguments, Tool, ToolContext, tool
from claw.tools.change import FileChange, change_to_make, change_to_show
from claw.tools.descent import near_names
from claw.tools.diff import shortened, unified_diff
from claw.tools.files import encoded
from claw.tools.path_calls import PathCalls
from claw.tools.state import FILES_FAMILY
from claw.tools.workspace import Workspace

# LF in the model's text means the line end of the file, whichever it is.
LINE_END = rb"(?:\r\n|(?<!\r)\n)"
MOST_COUNTED = 1_000
LINES_NAMED = 10
LINE_NUMBERS = re.compile(r"\s*\d+\t")


class Edit(TypedDict):
    """One replacement, as the model writes it."""

    old_text: Annotated[str, "Text as it stands in the file, without line numbers"]
    new_text: Annotated[str, "What takes its place"]
    replace_all: NotRequired[Annotated[bool, "Replace every match; else there must be just one"]]


def edit_file_tool(workspace: Workspace) -> Tool:
    """The `edit_file` tool, bound to a workspace."""

    paths = PathCalls(workspace)

    def preview(arguments: Arguments, context: ToolContext) -> str | None:
        change = change_to_show(paths, context, arguments["path"])
        before = _to_edit(change)
        after, _ = apply_edits(before, arguments["edits"])
        return unified_diff(before, after, change.place.name)

    @tool(
        family=FILES_FAMILY,
        edits=True,
        preview=preview,
        caution=paths.write_caution,
        protected=paths.write_protected,
    )
    def edit_file(
        path: Annotated[str, "Relative to the workspace, or absolute"],
        edits: Annotated[list[Edit], "Applied in order; if one fails, none is written"],
        context: ToolContext,
    ) -> str:
        """Replaces exact text in a file; everything else stays as it is, byte by byte.

        Read the file first. Give enough of the surrounding lines in old_text to make it unique.
        """
        change = change_to_make(paths, context, path)
        before = _to_edit(change)
        after, count = apply_edits(before, edits)
        diff = shortened(unified_diff(before, after, change.place.name))
        change.save(after)
        made = f"{count} replacement{'s' * (count != 1)}{change.broken_link}"
        return f"edited {change.place.name}: {made}\n{diff}"

    return edit_file


def apply_edits(data: bytes, edits: Sequence[Edit]) -> tuple[bytes, int]:
    """The content after all edits, each on what the one before left, and the replacements made.

    ToolError names the edit that fails and says why.
    """
    if not edits:
        raise ToolError("edits is empty: nothing to do")
    total = 0
    for index, edit in enumerate(edits, start=1):
        try:
            data, count = _apply(data, edit)
        except ToolError as error:
            which = f"edit {index} of {len(edits)}: " if len(edits) > 1 else ""
            raise ToolError(f"{which}{error.message}; nothing was written") from None
        total += count
    return data, total


def _apply(data: bytes, edit: Edit) -> tuple[bytes, int]:
    old, new = encoded(edit["old_text"]), encoded(edit["new_text"])
    if not old:
        raise ToolError("old_text is empty")
    if old == new:
        raise ToolError("old_text and new_text are the same")
    if not new.isascii() and not _is_utf8(data):
        raise ToolError("the file isn't UTF-8, so only ASCII text can be put into it")
    matches = _Matches(data, old)
    if edit.get("replace_all"):
        spans = list(matches.apart())
    else:
        spans = list(matches.overlapping())
        if len(spans) > 1:
            raise ToolError(_too_many(data, spans))
    if not spans:
        raise ToolError(_not_found(data, edit["old_text"]))
    pieces, done = [], 0
    for start, end in spans:
        pieces += [data[done:start], matches.with_line_ends(new, start)]
        done = end
    return b"".join([*pieces, data[done:]]), len(spans)


class _Matches:
    """Where `old` stands in `data`. Without a CR in it, its LFs match the file's line ends."""

    def __init__(self, data: bytes, old: bytes) -> None:
        self._data = data
        self._literal = b"\r" in old
        parts = [re.escape(part) for part in old.split(b"\n")]
        self._pattern = re.compile(re.escape(old) if self._literal else LINE_END.join(parts))

    def apart(self) -> Iterator[tuple[int, int]]:
        """The matches from left to right, none inside another."""
        return (match.span() for match in self._pattern.finditer(self._data))

    def overlapping(self) -> Iterator[tuple[int, int]]:
        """All matches, overlapping ones too, MOST_COUNTED at most."""
        start = 0
        for _ in range(MOST_COUNTED):
            match = self._pattern.search(self._data, start)
            if match is None:
                return
            yield match.span()
            start = match.start() + 1

    def with_line_ends(self, new: bytes, start: int) -> bytes:
        """`new` with the line ends that the file has at `start`."""
        if self._literal or b"\n" not in new or b"\r" in new:
            return new
        following = self._data.find(b"\n", start)
        end = following if following >= 0 else self._data.rfind(b"\n")
        has_crlf = end > 0 and self._data[end - 1] == ord("\r")
        return new.replace(b"\n", b"\r\n") if has_crlf else new


def _to_edit(change: FileChange) -> bytes:
    """What the file holds; ToolError where there is none."""
    if change.before is None:
        name, near = change.place.name, near_names(change.place.real)
        raise ToolError(f"{name} doesn't exist{near}; write_file makes new files")
    return change.before


def _too_many(data: bytes, spans: list[tuple[int, int]]) -> str:
    count = f"at least {MOST_COUNTED:,}" if len(spans) == MOST_COUNTED else f"{len(spans)}"
    lines = [str(data.count(b"\n", 0, start) + 1) for start, _ in spans[:LINES_NAMED]]
    more = ", ..." if len(spans) > LINES_NAMED else ""
    return (
        f"old_text stands {count} times in the file, at lines {', '.join(lines)}{more}: "
        "give more of the text around it, or set replace_all"
    )


def _not_found(data: bytes, old_text: str) -> str:
    wanted = [line.strip() for line in old_text.strip("\n").split("\n")]
    if all(LINE_NUMBERS.match(line) for line in old_text.strip("\n").split("\n")):
        return "old_text was not found: it holds the line numbers of read_file, leave them out"
    # With what isn't UTF-8 kept apart from U+FFFD, which is how read_file shows it.
    have = [line.strip() for line in data.decode("utf-8", "surrogateescape").split("\n")]
    for index in range(len(have) - len(wanted) + 1):
        if have[index] == wanted[0] and have[index : index + len(wanted)] == wanted:
            return (
                f"old_text was not found; at line {index + 1} there is a text that differs from it "
                "in blanks only"
            )
    if "\ufffd" in old_text and not _is_utf8(data):
        return (
            "old_text was not found: U+FFFD stands for bytes that aren't UTF-8; take text without "
            "them, or use bash"
        )
    return "old_text was not found: it must be exactly what the file holds, blanks included"


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
