"""The lines of a tape, version 1: JSON objects in UTF-8, one a line, each with a `type`.

tape          the header: version, claw (its version), dialect, model, created; the first line
run           a run begins: prompt, `history` (the messages before it) or `after` (the number of
              the run whose last messages they are), session, setup (what its engine was given)
request       a request is sent: dialect, model, url, quirks, max_reply_bytes, body (as text)
answer        it is answered: status, headers (those that matter)
bytes         pieces of the answer's body as they were read: `data` (a text for each, whose
              characters are the bytes: latin-1), `at` for each
end           nothing more of it counts; error: how the connection failed, or null
retrying      the next request of this step is another try: attempt, wait_s, remedy, error
reply_event   what a provider said that speaks no HTTP: the StreamEvent
deltas        pieces of the reply as the engine told them: kind, texts; index for a call's
event         another RunEvent as the engine told it
asked         an approver was asked about the call `id`: repeat, answer (allowed, reason, end), or
              refused (a ToolError's words), or cancelled
call_started  a call begins to run: id, name
call          it has run: id, seconds, cancelled (whether it was meanwhile), shown (the newest of
              its live output), output (content, is_error, details), or failed (a ToolError's
              words), or raised (name, words), or none of these: it heeded the cancel
call_left     it was still running when the run was over: id, shown
steering      what the user said meanwhile: lines
run_ended     messages: what the run left behind the first `kept` messages of its history

`run` and `step` number the runs of a tape and the requests of a run. `at` is in seconds since the
tape began. Lines about the wire stand before the events that came of them; else each thread's
lines are in order. Keys are masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from claw.values import frozen

VERSION = 1
HEADERS = (
    *("Content-Type", "Content-Encoding", "Location", "Retry-After", "Retry-After-Ms"),
    *("Server", "X-Request-Id", "Request-Id"),
)


@frozen
class Header:
    """What a tape says of itself. created: "2026-11-30T12:47:43Z"."""

    claw: str = ""
    dialect: str = ""
    model: str = ""
    created: str = ""

    def to_record(self) -> dict[str, Any]:
        return {
            "type": "tape",
            "version": VERSION,
            "claw": self.claw,
            "dialect": self.dialect,
            "model": self.model,
            "created": self.created,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Header:
        names = ("claw", "dialect", "model", "created")
        return cls(**{name: str(record.get(name, "")) for name in names})
