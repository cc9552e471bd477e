"""What waits to be written on a tape, and the records that are made of it.

What comes a hundred thousand times, pieces of a body and deltas, is put down as it is, which costs
the threads of the run next to nothing; neighbours then become one record. Where a key could be
spelled by it, it is held back until the reply is over, when all of it can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from claw.events import RunEvent, ToolCallDelta, ToolProgress
from claw.store.records import Record
from claw.tape.masking import FRAGMENTS, Secrets

PIECES_OF_A_RECORD = 128  # of 8 kB at most

Body: TypeAlias = tuple[int, int]
"""The run, and its step."""

Made: TypeAlias = Callable[[], Record]
"""A record that is made when it is written."""


class Piece(NamedTuple):
    """A piece of a body."""

    body: Body
    at: float
    data: bytes


class BodyEnd(NamedTuple):
    """The end of a body. withheld: it spells a key, and isn't to be written."""

    body: Body
    withheld: bool


class Told(NamedTuple):
    """What the engine told in a run, and when."""

    run: int
    at: float
    events: Sequence[RunEvent]


class Recording:
    """Turns what waited into lines of a tape, without `secrets`. For the thread that writes; any
    other may set `secrets`."""

    def __init__(self) -> None:
        self.secrets = Secrets()
        self._pieces: dict[Body, list[Piece]] = {}
        self._fragments: dict[int, list[RunEvent]] = {}

    def lines(
        self, wire: Iterable[Piece | BodyEnd | Made], told: Iterable[Told | Made]
    ) -> Iterator[bytes]:
        """HistoryError for what can't be encoded."""
        for record in (*self._of_wire(wire), *self._of_told(told)):
            yield self.secrets.line(record)

    def rest(self) -> Iterator[bytes]:
        """What was held back, at the end of the tape."""
        for body in list(self._pieces):
            yield from map(self.secrets.line, self._body(body))
        for run in list(self._fragments):
            yield from map(self.secrets.line, self._held(run, 0.0))

    def _of_wire(self, items: Iterable[Piece | BodyEnd | Made]) -> Iterator[Record]:
        for item in items:
            if isinstance(item, Piece):
                self._pieces.setdefault(item.body, []).append(item)
            elif isinstance(item, BodyEnd):
                if item.withheld:
                    self._pieces.pop(item.body, None)
                yield from self._body(item.body)
            else:
                yield item()
        if not self.secrets:
            for body in list(self._pieces):
                yield from self._body(body)

    def _body(self, body: Body) -> Iterator[Record]:
        """The pieces as they came, in a few records."""
        pieces = self._pieces.pop(body, [])
        texts = [piece.data.decode("latin-1") for piece in pieces]
        if self.secrets:
            texts = self.secrets.among(texts)
        for start in range(0, len(pieces), PIECES_OF_A_RECORD):
            part = slice(start, start + PIECES_OF_A_RECORD)
            times = [_rounded(piece.at) for piece in pieces[part]]
            run, step = body
            yield {"type": "bytes", "run": run, "step": step, "at": times, "data": texts[part]}

    def _of_told(self, items: Iterable[Told | Made]) -> Iterator[Record]:
        at = 0.0
        for item in items:
            if not isinstance(item, Told):
                yield item()
                continue
            run, at, events = item
            for fragments, group in groupby(events, _is_fragment):
                if fragments:
                    self._fragments.setdefault(run, []).extend(group)
                    continue
                yield from self._held(run, at)
                for event in group:
                    told = event.to_dict()
                    yield {"type": "event", "run": run, "at": _rounded(at), "event": told}
        if not self.secrets:
            for run in list(self._fragments):
                yield from self._held(run, at)

    def _held(self, run: int, at: float) -> Iterator[Record]:
        """Neighbours that are deltas of one kind, and of one call, in one record."""
        events: list[Any] = list(self.secrets.out_of(self._fragments.pop(run, [])))
        for key, group in groupby(events, _stream):
            head = {"run": run, "at": _rounded(at)}
            if isinstance(key, int):
                texts = [event.fragment for event in group]
                told = {"kind": ToolCallDelta.type, "index": key, "texts": texts}
                yield {"type": "deltas", **head, **told}
            elif key is ToolProgress:
                for event in group:
                    yield {"type": "event", **head, "event": event.to_dict()}
            else:
                texts = [event.text for event in group]
                yield {"type": "deltas", **head, "kind": key.type, "texts": texts}


def _stream(event: Any) -> Any:
    """Its type; of a ToolCallDelta its call's index."""
    kind = type(event)
    return event.index if kind is ToolCallDelta else kind


def _is_fragment(event: RunEvent) -> bool:
    return isinstance(event, FRAGMENTS)


def _rounded(at: float) -> float:
    return round(at, 4)
