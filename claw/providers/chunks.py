"""Chunked bodies, all that has arrived at once. RFC 9112, 7.1.

http.client and urllib3 take one chunk out of their buffer with each call, and hand it over when it
is whole. Model servers send every event as a chunk of its own, so the framing of a fast reply
would cost more than its JSON. Here one read takes what the socket has, and the decoder takes the
framing off all of it: what there is of a chunk comes out, and no read waits for more.
"""

from __future__ import annotations

import re
from http.client import HTTPException, HTTPResponse
from typing import Any

MAX_LINE = 4096  # bytes of a size line or a trailer
MAX_TRAILERS = 100
CRLF = b"\r\n"

# int() alone would take signs, underscores and "0x". What follows the semicolon says nothing.
SIZE_LINE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\r?", re.DOTALL)


class ChunkDecoder:
    """Feed it a body, cut anywhere.

    ended: the last chunk and its trailers came; what follows is no part of the body.
    fault: what is wrong with the framing, "" as long as nothing is; then nothing more is read.

    Size lines and trailers may end in a bare LF, as with http.client. The CR LF behind the data
    has to be there: it shows that both sides counted the same bytes.
    """

    def __init__(self) -> None:
        self.ended = False
        self.fault = ""
        self._rest = b""  # of a line that has no end yet
        self._left = 0  # bytes of the chunk that are still to come
        self._seam = b""  # what has to stand before the next line: CR LF behind data
        self._last = False  # the last chunk came
        self._trailers = 0  # lines after it

    def feed(self, data: bytes) -> bytes:
        """The content in `data`. A fault doesn't swallow what came before it."""
        pieces: list[bytes] = []
        if not (self.ended or self.fault):
            data, self._rest = self._rest + data, b""
            self.fault = self._decode(data, pieces)
        return b"".join(pieces)

    def end(self) -> None:
        """Nothing more comes. Some servers leave out the empty line after the last chunk."""
        if self._last:
            self.ended = True
        else:
            self.fault = self.fault or "the body ended before its last chunk"

    def _decode(self, data: bytes, pieces: list[bytes]) -> str:
        """Appends the content to `pieces`; returns the fault."""
        at = 0
        while not self.ended:
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
            if not data.startswith(self._seam, at):
                self._rest = data[at:]
                fits = self._seam.startswith(self._rest)
                return "" if fits else "a chunk is longer than its size says"
            start = at + len(self._seam)
            end = data.find(b"\n", start, start + MAX_LINE)
            if end < 0:
                self._rest = data[at:]
                return "a line is too long" if len(data) >= start + MAX_LINE else ""
            at = end + 1
            if self._last:
                if fault := self._take_trailer(data[start:end]):
                    return fault
            elif size := SIZE_LINE.fullmatch(data, start, end):
                self._left = int(size[1], 16)
                self._last = not self._left
                self._seam = b"" if self._last else CRLF
            else:
                return "a chunk has no size"
        return ""

    def _take_trailer(self, line: bytes) -> str:
        self.ended = line in (b"", b"\r")
        self._trailers += 1
        return "there are too many trailers" if self._trailers > MAX_TRAILERS else ""


class PromptResponse(HTTPResponse):
    """http.client's response, whose `read1` gives all that has arrived of a chunked body.

    A body that was begun with `read1` is read to its end with it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._decoder = ChunkDecoder()

    def read1(self, n: int = -1) -> bytes:
        """Waits only while there is nothing; b"" at the end. Raises HTTPException, OSError.

        n: the most that is read from the socket, so the most that comes out.
        """
        if not self.chunked:
            return super().read1(n)
        content = b""
        while n and not content and not self.isclosed():
            content = self._read_on(n)
        return content

    def _read_on(self, n: int) -> bytes:
        if self._decoder.fault:
            raise HTTPException(self._decoder.fault)
        content = b""
        if data := self.fp.read1(n):
            content = self._decoder.feed(data)
        else:
            self._decoder.end()
        if self._decoder.ended:
            self.close()
        return content
