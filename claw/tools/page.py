"""A page of a text file: numbered lines, bounded, with notes on what isn't shown."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader

from claw.cancel import CancelToken
from claw.errors import ToolError
from claw.tools.digest import new_digest

LARGEST_READ = 200_000_000
PAGE_LINES = 2_000
PAGE_BYTES = 64_000
LINE_BYTES = 4_000
CHUNK_BYTES = 1_000_000
NUMBER_BYTES = 7
CANCEL_LINES = 10_000
TOO_MANY = "too many for read_file: use search, or bash with head, tail or sed -n"
BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Line:
    """A line without its end, cut at LINE_BYTES; `left_out` counts the bytes behind the cut."""

    number: int
    text: str
    end: str
    left_out: int = 0


@dataclass
class Page:
    """What a call of read_file shows. total: lines of the file. digest: of its whole content."""

    first: int
    wanted: int | None
    lines: list[Line] = field(default_factory=list)
    total: int = 0
    digest: bytes = b""

    def text(self) -> str:
        """The numbered lines, then a line in brackets for each thing that isn't seen in them."""
        shown = [f"{line.number:>6}\t{line.text}{_cut(line)}" for line in self.lines]
        return "\n".join([*shown, *(f"[{note}]" for note in self._notes())])

    def _notes(self) -> Iterator[str]:
        last = self.first + len(self.lines) - 1
        if last < min(self.wanted or self.total, self.total):
            yield f"lines {self.first}-{last} of {self.total}; next: start_line={last + 1}"
        elif len(self.lines) < self.total:
            yield f"lines {self.first}-{last} of {self.total}"
        ends = {line.end for line in self.lines if line.end}
        if "\r\n" in ends:
            yield "line ends are CRLF" if len(ends) == 1 else "line ends are mixed, CRLF and LF"
        if any("\ufffd" in line.text for line in self.lines):
            yield "bytes that aren't UTF-8 are shown as \ufffd; edit_file can't match them"


def read_page(file: BufferedReader, first: int, wanted: int | None, cancel: CancelToken) -> Page:
    """Reads lines `first` to `wanted` as far as they fit, and the rest of the file for its digest.

    Memory stays flat whatever the file holds. Raises Cancelled, and ToolError where there is no
    end of it: files of /proc say that they have 0 bytes.
    """
    page, source = Page(first, wanted), _Source(file)
    room = PAGE_BYTES
    while (line := source.next_line()) is not None:
        if line.number % CANCEL_LINES == 0:
            cancel.raise_if_cancelled()
        if line.number < first:
            continue
        room -= len(line.text.encode()) + NUMBER_BYTES + 1
        if page.lines and room < 0:
            break
        page.lines.append(line)
        if len(page.lines) == PAGE_LINES or line.number == wanted:
            break
    source.skip_rest(cancel)
    page.total, page.digest = source.lines, source.digest.digest()
    return page


class _Source:
    """A file line by line, counted and digested; no line is held in memory beyond LINE_BYTES."""

    def __init__(self, file: BufferedReader) -> None:
        self.lines = 0
        self.digest = new_digest()
        self._room = LARGEST_READ
        self._file = file

    def next_line(self) -> Line | None:
        start = last = self._piece(LINE_BYTES)
        if not start:
            return None
        self.lines += 1
        left_out = 0
        while not last.endswith(b"\n") and (more := self._piece(CHUNK_BYTES)):
            last = more
            left_out += len(more)
        if self.lines == 1:
            start = start.removeprefix(BOM)
        body = start.removesuffix(b"\n").removesuffix(b"\r")
        end = "\r\n" if last.endswith(b"\r\n") else "\n" if last.endswith(b"\n") else ""
        return Line(self.lines, _text_of(body, cut=left_out > 0), end, left_out)

    def skip_rest(self, cancel: CancelToken) -> None:
        """To the end of the file, for its line count and digest."""
        last = b"\n"
        while chunk := self._file.read(CHUNK_BYTES):
            cancel.raise_if_cancelled()
            self._count(chunk)
            self.lines += chunk.count(b"\n")
            last = chunk
        self.lines += not last.endswith(b"\n")

    def _piece(self, most: int) -> bytes:
        piece = self._file.readline(most)
        self._count(piece)
        return piece

    def _count(self, data: bytes) -> None:
        self.digest.update(data)
        self._room -= len(data)
        if self._room < 0:
            raise ToolError(f"the file has more than {LARGEST_READ:,} bytes, {TOO_MANY}")


def _text_of(body: bytes, cut: bool) -> str:
    """As text; a character that the cut went through is dropped, not shown as a bad one."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(body, final=not cut)


def _cut(line: Line) -> str:
    return f"… [{line.left_out:,} more bytes in this line]" if line.left_out else ""
