"""What waits to be written on a tape, and the records that are made of it.

What comes a hundred thousand times, pieces of a body and deltas, is put down as it is, which costs
the threads of the run next to nothing; neighbours then become one record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from claw.events import ReasoningDelta, RunEvent, TextDelta, ToolCallDelta
from claw.store.mask import Mask
from claw.store.records import Record
from claw.tape.masking import BodyMask, spellings

PIECES_OF_A_RECORD = 128  # of 8 kB at most

Made: TypeAlias = Callable[[], Record]
"""A record that is made when it is written."""


class Piece(NamedTuple):
    """A piece of a body; None at its end."""

    run: int
    step: int
    at: float
    data: bytes | None


class Told(NamedTuple):
    """An event, as the engine told it."""

    run: int
    at: float
    event: RunEvent


Waiting: TypeAlias = Piece | Told | Made


class Recording:
    """Turns what waited into lines of a tape, without `secrets`. For the thread that writes."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = spellings(secrets)
        self._mask = Mask(self._secrets)
        self._bodies: dict[tuple[int, int], BodyMask] = {}

    def lines(self, wire: Iterable[Waiting], told: Iterable[Waiting]) -> Iterator[bytes]:
        """HistoryError for what can't be encoded."""
        for key, group in groupby([*wire, *told], _kind):
            for record in self._records(key, list(group)):
                yield self._mask.encoded(record)

    def _records(self, key: Any, items: Sequence[Any]) -> Iterator[Record]:
        if key is None:
            yield from (_event(each) if isinstance(each, Told) else each() for each in items)
        elif isinstance(items[0], Told):
            yield _deltas(items)
        else:
            for start in range(0, len(items), PIECES_OF_A_RECORD):
                yield from self._bytes(items[start : start + PIECES_OF_A_RECORD])

    def _bytes(self, pieces: Sequence[Piece]) -> Iterator[Record]:
        """The pieces as they came; where a key is among them, as one piece without it."""
        run, step = pieces[0].run, pieces[0].step
        texts = [piece.data.decode("latin-1") for piece in pieces if piece.data is not None]
        times = [_rounded(piece.at) for piece in pieces if piece.data is not None]
        body = self._bodies.setdefault((run, step), BodyMask(self._mask, self._secrets))
        whole = "".join(texts)
        masked = body.feed(whole)
        if pieces[-1].data is None:
            masked += body.end()
            del self._bodies[run, step]
        if masked != whole:
            texts, times = [masked], [_rounded(pieces[-1].at)]
        if masked:
            yield {"type": "bytes", "run": run, "step": step, "at": times, "data": texts}


def _kind(item: Waiting) -> tuple[object, ...] | None:
    """Equal for neighbours that become one record."""
    if isinstance(item, Piece):
        return item.run, item.step
    if not isinstance(item, Told):
        return None
    event = item.event
    if isinstance(event, ToolCallDelta):
        return item.run, event.type, event.index
    return (item.run, event.type) if isinstance(event, TextDelta | ReasoningDelta) else None


def _deltas(told: Sequence[Told]) -> Record:
    """Deltas of one kind, and of one call."""
    first = told[0].event
    record = {"type": "deltas", "run": told[0].run, "at": _rounded(told[0].at), "kind": first.type}
    if isinstance(first, ToolCallDelta):
        texts = [each.event.fragment for each in told]  # type: ignore[union-attr]  # all are one
        return {**record, "index": first.index, "texts": texts}
    return {**record, "texts": [each.event.text for each in told]}  # type: ignore[union-attr]


def _event(told: Told) -> Record:
    event = told.event.to_dict()
    return {"type": "event", "run": told.run, "at": _rounded(told.at), "event": event}


def _rounded(at: float) -> float:
    return round(at, 4)
