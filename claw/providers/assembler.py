"""Assembler: what folds a dialect's payloads into deltas and one Message."""

from __future__ import annotations

from typing import Any, Protocol

from claw.events import StreamEvent
from claw.messages import Message, Usage
from claw.providers.templates import Hole


class Assembler(Protocol):
    """Folds the payloads of one reply, in their order, into deltas and the whole Message.

    Contract: one for each reply, used on one thread, does no I/O. `fold` appends the deltas of a
    payload to `deltas` and returns how many bytes of text, reasoning and arguments came, counting
    anything else that belongs to the reply (a finish reason, usage) as one; 0 means that nothing
    of the payload belongs to the reply. It passes over what it doesn't know and raises only
    ServerReported. `message` is asked for once, after `stop_word` was set.
    """

    @property
    def stop_word(self) -> str:
        """The server's own finish reason, "" as long as none came."""

    @property
    def ended(self) -> bool:
        """The dialect's own end mark came: nothing after it counts."""

    @property
    def usage(self) -> Usage | None:
        """The counts so far; None as long as the server told none."""

    @property
    def padding(self) -> str:
        """The key, at the top of a payload, of a random string that `fold` passes over; "" where
        the dialect has none."""

    def fold(self, payload: dict[str, Any], deltas: list[StreamEvent]) -> int: ...

    def hole_in(self, payload: dict[str, Any]) -> Hole | None:
        """The one string but the padding by which chunks like `payload`, which was just folded,
        differ; None if it did more than add it. Not asked after the finish reason. See
        templates.py."""

    def message(self) -> Message: ...
