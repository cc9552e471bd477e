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

BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class ServerSentEvent:
    """One dispatched event. `id` is the last event id at that time, "" if there is none."""

    event: str
    data: str
    id: str


class SSEDecoder:
    """Feeds on bytes, cut anywhere. An event comes out with the feed that completes it.

    max_event_bytes: the most that one event may hold before ProtocolError is raised.
    on_other_field(name, value): called for each line whose field the standard ignores; may raise.
    retry: the last good reconnection time in milliseconds, or None.
    An unfinished event at the end of the stream is dropped, as the standard says.
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
        self._held = 0  # bytes in _pieces and _data
        self._after_cr = False  # a LF that comes next belongs to the CR before it
        self._at_start = True
        self._data: list[bytes] = []
        self._event = ""
        self._id = ""

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that `data` completes. Raises ProtocolError over the size limit."""
        return list(self.events(data))

    def events(self, data: bytes) -> Iterator[ServerSentEvent]:
        """`feed`, one by one: events before the size limit is broken come out before the error.

        The iterator has to be used up before the next call, unless the stream is given up.
        """
        if self._after_cr and data:
            self._after_cr = False
            if data.startswith(b"\n"):
                data = data[1:]
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = data.split(b"\n")
        if self._pieces and lines:
            self._pieces.append(lines[0])
            lines[0] = b"".join(self._pieces)
            self._held -= len(lines[0])
            ...
        for line in lines:
            ...
