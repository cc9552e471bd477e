"""What waits to be written on a tape, and the records that are made of it.

What comes a hundred thousand times, pieces of a body and deltas, is put down as it is, which costs
the threads of the run next to nothing; neighbours then become one record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeAlias

from claw.events import ReasoningDelta, RunEvent, TextDelta, ToolCallDelta
from claw.store.mask import Mask
from claw.store.records import Record
from claw.tape.masking import BodyMask, spellings

PIECES_OF_A_RECORD = 128  # of 8 kB at most

Body: TypeAlias = tuple[int, int]
"""The run, and its step."""

Piece: TypeAlias = tuple[Body, float, bytes | None]
"""When a piece of a body came; None at its end."""

Told: TypeAlias = tuple[int, float, Sequence[RunEvent]]
"""The run, when, and what the engine told."""

Made: TypeAlias = Callable[[], Record]
"""A record that is made when it is written."""


class Recording:
    """Turns what waited into lines of a tape, without `secrets`. For the thread that writes."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = spellings(secrets)
        self._mask = Mask(self._secrets)
        self._bodies: dict[Body, BodyMask] = {}

    def lines(self, wire: Iterable[Piece | Made], told: Iterable[Told | Made]) -> Iterator[bytes]:
        """HistoryError for what can't be encoded."""
        for record in (*self._of_wire(wire), *_of_told(told)):
            yield self._mask.encoded(record)

    def _of_wire(self, items: Iterable[Piece | Made]) -> Iterator[Record]:
        """Neighbours that are pieces of one body become one record."""
        for body, group in groupby(items, _body):
            if body is None:
                yield from (item() for item in group if not isinstance(item, tuple))
                continue
            pieces = [item for item in group if isinstance(item, tuple)]
            for start in range(0, len(pieces), PIECES_OF_A_RECORD):
                yield from self._bytes(body, pieces[start : start + PIECES_OF_A_RECORD])

    def _bytes(self, key: Body, pieces: Sequence[Piece]) -> Iterator[Record]:
        """The pieces as they came; where a key is among them, as one piece without it."""
        texts = [data.decode("latin-1") for _, _, data in pieces if data is not None]
        times = [_rounded(at) for _, at, data in pieces if data is not None]
        body = self._bodies.get(key) or BodyMask(self._mask, self._secrets)
        self._bodies[key] = body
        whole = "".join(texts)
        masked = body.feed(whole)
        last = pieces[-1]
        if last[2] is None:
            masked += body.end()
            del self._bodies[key]
        if masked != whole:
            texts, times = [masked], [_rounded(last[1])]
        if masked:
            run, step = key
            yield {"type": "bytes", "run": run, "step": step, "at": times, "data": texts}


def _body(item: Piece | Made) -> Body | None:
    return item[0] if isinstance(item, tuple) else None


def _of_told(items: Iterable[Told | Made]) -> Iterator[Record]:
    """Neighbours that are deltas of one kind, and of one call, become one record."""
    deltas = _Deltas()
    for item in items:
        if not isinstance(item, tuple):
            yield from deltas.take()
            yield item()
            continue
        run, at, events = item
        for stretch, texts in _stretches(events):
            if isinstance(stretch, dict):
                key = {"type": "deltas", "run": run, **stretch}
                if deltas.key != key:
                    yield from deltas.take()
                    deltas.key, deltas.at = key, at
                deltas.texts += texts
                continue
            yield from deltas.take()
            for event in stretch:
                told = event.to_dict()
                yield {"type": "event", "run": run, "at": _rounded(at), "event": told}
    yield from deltas.take()


class _Deltas:
    """Deltas that become one record."""

    def __init__(self) -> None:
        self.key: dict[str, Any] = {}
        self.at = 0.0
        self.texts: list[str] = []

    def take(self) -> Iterator[Record]:
        if self.texts:
            yield {**self.key, "at": _rounded(self.at), "texts": self.texts}
        self.key, self.texts = {}, []


def _stretches(
    events: Iterable[RunEvent],
) -> Iterator[tuple[dict[str, Any] | list[RunEvent], list[str]]]:
    """(what tells one kind of deltas from others, their texts), or (other events, nothing)."""
    for kind, group in groupby(events, type):
        stretch: list[Any] = list(group)
        if kind is TextDelta or kind is ReasoningDelta:
            yield {"kind": kind.type}, [delta.text for delta in stretch]
        elif kind is ToolCallDelta:
            for index, part in groupby(stretch, attrgetter("index")):
                yield {"kind": kind.type, "index": index}, [delta.fragment for delta in part]
        else:
            yield stretch, []


def _rounded(at: float) -> float:
    return round(at, 4)
