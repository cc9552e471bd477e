"""Output of any size and any bytes, kept as a short valid text: its head, its tail, a count."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claw.tools.whole_output import WholeOutput

KEPT_BYTES = 30_000


class OutputKeeper:
    """Takes bytes as they come, keeps the first third and the last two thirds of `limit` bytes.

    Bytes that aren't UTF-8 become U+FFFD, however the bytes were cut into pieces. whole: opens
    the file for everything; called once something has to be left out, never before. For one thread
    at a time.
    """

    def __init__(
        self, limit: int = KEPT_BYTES, whole: Callable[[], WholeOutput] | None = None
    ) -> None:
        self._head_size = limit // 3
        self._tail_size = limit - self._head_size
        self._limit = limit
        self._open_whole = whole
        self._whole: WholeOutput | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> str:
        """Keeps `data` and returns it as text; a character cut in two comes with its last byte."""
        text = self._decoder.decode(data)
        self.add(text.encode())
        return text

    def add(self, piece: bytes) -> None:
        """Keeps UTF-8 that somebody else has decoded already: whole characters."""
        room = self._head_size - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        was_whole = self._total <= self._limit
        self._total += len(piece)
        if self._total > self._limit:
            if was_whole:  # nothing has been dropped yet: these two are everything so far
                self._start_whole(bytes(self._head + self._tail))
            elif self._whole is not None:
                self._whole.write(piece)
            del self._tail[: -self._tail_size]

    def finish(self) -> str:
        """The end has come: returns the text of what was left in the middle of a character."""
        rest = self._decoder.decode(b"", final=True)
        self.add(rest.encode())
        if self._whole is not None:
            self._whole.close()
        return rest

    def text(self, whole: WholeOutput | None = None) -> str:
        """All of it, or head and tail with a line between them that says what is missing.

        whole: the file that has everything, where this keeper has none of its own.
        """
        if self._total <= self._limit:
            return (self._head + self._tail).decode()
        head, tail = _whole_lines_at_end(self._head), _whole_lines_at_start(self._tail)
        left_out = self._total - len(head) - len(tail)
        whole = whole or self._whole
        where = f"; the whole output is in {whole}" if whole is not None else ""
        gap = f"[... {left_out:,} bytes left out{where} ...]"
        before = head.decode() if head.endswith(b"\n") else f"{head.decode()}\n"
        return f"{before}{gap}\n{tail.decode()}"

    def _start_whole(self, so_far: bytes) -> None:
        if self._open_whole is None:
            return
        try:
            self._whole = self._open_whole()
        except OSError:
            return
        self._whole.write(so_far)


def _whole_lines_at_end(data: bytes | bytearray) -> bytes:
    """Without the last, cut line where that costs less than half; else without a cut character."""
    end = data.rfind(b"\n") + 1
    if end * 2 >= len(data):
        return bytes(data[:end])
    return data.decode("utf-8", "ignore").encode()


def _whole_lines_at_start(data: bytes | bytearray) -> bytes:
    """Without the first, cut line where that costs less than half; else without a cut character."""
    start = data.find(b"\n") + 1
    if 0 < start * 2 <= len(data):
        return bytes(data[start:])
    return data.decode("utf-8", "ignore").encode()
