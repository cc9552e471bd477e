"""The event-stream parser: bytes in, events out. WHATWG HTML 9.2.5 and 9.2.6, nothing more.

Lines end in LF, CR or CR LF and in nothing else: `splitlines` would cut JSON at U+2028. Lines are
found in the bytes, for no byte of a longer UTF-8 character can be CR, LF or a colon, and each
event is decoded once. Pieces of an unfinished line are kept in a list and joined once, so the
time grows with the size of an event, not with its square.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from claw.errors import ProtocolError

LF = 10
CR = 13  # looking for a byte by its number is four times as fast as by b"\r"
BOM = b"\xef\xbb\xbf"
MAX_RETRY_DIGITS = 18  # milliseconds; a longer number is no time


@dataclass(slots=True)
class ServerSentEvent:
    """One dispatched event. `id` is the last event id at that time, "" if there is none."""

    event: str
    data: str
    id: str


class SSEDecoder:
    """Feeds on bytes, cut anywhere. An event comes out with the feed that completes it.

    max_event_bytes: the most that one event may hold before ProtocolError is raised.
    on_other_field(name, value): gets each line whose field the standard ignores.
    retry: the last good reconnection time in milliseconds, or None.
    An unfinished event at the end of the stream is dropped, as the standard says.

    Contract: `on_other_field` is called inside `feed` or `events`, on their thread, in the order of
    the lines. What it raises comes out there; the stream is given up then.
    """

    def __init__(
        self,
        max_event_bytes: int = 16_000_000,
        *,
        on_other_field: Callable[[str, str], None] | None = None,
    ) -> None:
        self.retry: int | None = None
        self._max = max_event_bytes
        self._on_other_field = on_other_field
        self._pieces: list[bytes] = []  # of the line that has no end yet
        self._pending = 0  # bytes in _pieces
        self._after_cr = False  # a LF that comes next belongs to the CR before it
        self._at_start = True
        self._between = False  # nothing is left of earlier feeds
        self._data: list[bytes] = []  # the data lines of the event so far
        self._size = 0  # bytes of their lines
        self._event = ""
        self._id = ""

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that `data` completes. Raises ProtocolError over the size limit."""
        return list(self.events(data))

    def events(self, data: bytes) -> Iterator[ServerSentEvent]:
        """`feed`, one by one: what came before an event that is too large comes out first.

        The iterator has to be used up before the next call, unless the stream is given up.
        """
        if self._after_cr and data:
            self._after_cr = False
            if data.startswith(b"\n"):
                data = data[1:]
        if CR in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and (self._pieces or self._at_start):
            self._complete_first(lines)
        for line in lines:
            if line:
                if self._size + len(line) > self._max:
                    raise self._too_large()
                if line.startswith(b"data: "):  # nearly every line that counts
                    self._data.append(line[6:])
                    self._size += len(line)
                else:
                    self._take_field(line)
            else:
                if self._data:
                    text = b"\n".join(self._data).decode("utf-8", "replace")
                    self._data.clear()
                    self._size = 0
                    yield ServerSentEvent(self._event or "message", text, self._id)
                self._event = ""
        if rest:
            self._pieces.append(rest)
            self._pending += len(rest)
            if self._size + self._pending > self._max:
                raise self._too_large()
        self._between = not (self._pieces or self._data or self._event or self._after_cr)

    def only_message(self, data: bytes) -> str | None:
        """The data of a feed that is one whole event with one `data` line, as nearly every feed
        is, when nothing is left of earlier ones. Else None, and `data` is still to be fed."""
        if (
            self._between
            and data.startswith(b"data: ")
            and data.find(LF) == len(data) - 2
            and data.endswith(b"\n\n")
            and CR not in data
            and len(data) <= self._max
        ):
            return data[6:-2].decode("utf-8", "replace")
        return None

    def _complete_first(self, lines: list[bytes]) -> None:
        """The first line that ends in this feed may have begun in earlier ones."""
        if self._pieces:
            self._pieces.append(lines[0])
            lines[0] = b"".join(self._pieces)
            self._pieces.clear()
            self._pending = 0
        if self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(BOM)

    def _take_field(self, line: bytes) -> None:
        raw_name, _, raw_value = line.partition(b":")
        raw_value = raw_value.removeprefix(b" ")
        if raw_name == b"data":
            self._data.append(raw_value)
            self._size += len(line)
            return
        name, value = raw_name.decode("utf-8", "replace"), raw_value.decode("utf-8", "replace")
        if name == "event":
            self._event = value
        elif name == "id":
            if "\0" not in value:
                self._id = value
        elif name == "retry":
            if raw_value.isdigit() and len(raw_value) <= MAX_RETRY_DIGITS:
                self.retry = int(raw_value)
        elif name and self._on_other_field is not None:  # no name: a comment
            self._on_other_field(name, value)

    def _too_large(self) -> ProtocolError:
        return ProtocolError(
            f"the server sent an event larger than the limit of {self._max:,} bytes"
        )
