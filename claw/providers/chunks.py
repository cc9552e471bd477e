"""Chunked bodies, all that has arrived at once. RFC 9112, 7.1.

http.client and urllib3 take one chunk out of their buffer with each call, and hand it over when it
is whole. Model servers send every event as a chunk of its own, so that would be a third of what
reading a fast reply costs. Here one read takes what the socket has, and the decoder takes the
framing off all of it: what there is of a chunk comes out, and no read waits for more.
"""

from __future__ import annotations

import re
from http.client import HTTPException, HTTPResponse, parse_headers
from typing import Any

# One line each, of bounded length. int() alone would take signs, underscores and "0x" as well.
SIZE = rb"[ \t]{0,16}([0-9A-Fa-f]{1,16})[ \t]{0,16}(?:;[^\n]{0,4000})?\r?\n"
FIRST_SIZE = re.compile(SIZE)
NEXT_SIZE = re.compile(rb"\r\n" + SIZE)  # with what ends the data before it
TRAILER = re.compile(rb"([^\n]{0,4000})\n")
MAX_LINE = 4096  # bytes; what is longer fits none of the three
MAX_TRAILERS = 100
MAX_INTERIM_ANSWERS = 20
SWITCHING_PROTOCOLS = 101


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
        self._left = 0  # bytes of the chunk that are still to come
        self._expected = FIRST_SIZE  # the line that comes then
        self._line = b""  # its beginning, if it was cut
        self._trailers = 0

    def feed(self, data: bytes) -> bytes:
        """The content in `data`. A fault doesn't swallow what came before it."""
        pieces: list[bytes] = []
        if self._line:
            data, self._line = self._line + data, b""
        at = 0
        while not (self.ended or self.fault):
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
            line = self._expected.match(data, at)
            if line is None:
                self._keep(data[at:])
                break
            at = line.end()
            if self._expected is TRAILER:
                self._take_trailer(line[1])
            else:
                self._left = int(line[1], 16)
                self._expected = NEXT_SIZE if self._left else TRAILER
        return b"".join(pieces)

    def end(self) -> None:
        """Nothing more comes. Some servers leave out the empty line after the last chunk."""
        if self._expected is TRAILER:
            self.ended = True
        else:
            self.fault = self.fault or "the body ended before its last chunk"

    def _keep(self, line: bytes) -> None:
        """Keeps the beginning of a line, unless nothing good can become of it."""
        seam = b"\r\n" if self._expected is NEXT_SIZE else b""
        if not (line.startswith(seam) or seam.startswith(line)):
            self.fault = "a chunk isn't as long as its size says"
        elif b"\n" in line[len(seam) :] or len(line) > MAX_LINE:
            self.fault = "a line between the chunks can't be read"
        else:
            self._line = line

    def _take_trailer(self, line: bytes) -> None:
        self._trailers += 1
        if line in (b"", b"\r"):
            self.ended = True
        elif self._trailers > MAX_TRAILERS:
            self.fault = "there is no end of trailers"


class PromptResponse(HTTPResponse):
    """http.client's response, whose `read1` gives all that has arrived of a chunked body.

    A body that was begun with `read1` is read to its end with it.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._decoder = ChunkDecoder()

    def _read_status(self) -> tuple[str, int, str]:
        """Passes over what only announces an answer, like 103 Early Hints; http.client does so for
        100 Continue alone, and without end. RFC 9110, 15.2."""
        for _ in range(MAX_INTERIM_ANSWERS + 1):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status // 100 != 1 or status == SWITCHING_PROTOCOLS:
                return version, status, reason
            parse_headers(self.fp)
        raise HTTPException("no answer comes, only announcements of one")

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
