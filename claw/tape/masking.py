"""Keys taken out of what a tape holds, also where one is spelled over several texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

from claw.events import Event, ReasoningDelta, TextDelta, ToolCallDelta, ToolProgress
from claw.store.mask import MASKED, SHORTEST, SHORTEST_PART, Mask
from claw.store.records import Record

E = TypeVar("E", bound=Event)

FRAGMENTS = (TextDelta, ReasoningDelta, ToolCallDelta, ToolProgress)


class Secrets:
    """Masks `values`, those of eight characters or more, however JSON spells them."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        long = {value for value in values if len(value) >= SHORTEST}
        spelled = {spelling for value in long for spelling in _spellings(value)}
        self._values = sorted(spelled, key=len, reverse=True)
        self._mask = Mask(self._values)

    def __bool__(self) -> bool:
        return bool(self._values)

    def line(self, record: Record) -> bytes:
        """The record as a line of a tape, without them. HistoryError: it can't be one."""
        return self._mask.encoded(record)

    def among(self, texts: Sequence[str]) -> list[str]:
        """The texts without them, also where one goes on in the next text; as many as before."""
        spans = sorted(self._spans("".join(texts)))
        return _without(spans, texts) if spans else list(texts)

    def are_in(self, text: str) -> bool:
        return next(self._spans(text), None) is not None

    def spelled_by(self, events: Iterable[Event]) -> bool:
        """Whether one is spelled by several fragments of a text, and isn't whole in any."""
        for stream in _streams(events):
            texts = [*map(_text, stream)]
            if self.are_in("".join(texts)):
                apart = [each for text in texts for each in self.among([text])]
                if apart != self.among(texts):
                    return True
        return False

    def out_of(self, events: Sequence[E]) -> list[E]:
        """The events, the fragments without them; one of which nothing is left is left out."""
        if not self.spelled_by(events):
            return list(events)
        masked: dict[int, Event] = {}
        for stream in _streams(events):
            texts = self.among([_text(event) for event in stream])
            for event, text in zip(stream, texts, strict=True):
                masked[id(event)] = _with_text(event, text)
        kept: list[Any] = [masked.get(id(event), event) for event in events]
        return [event for event in kept if not isinstance(event, FRAGMENTS) or _text(event)]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where they stand in a text; where the end was cut off, a long beginning."""
        for value in self._values:
            place = -1
            while (place := text.find(value[:SHORTEST_PART], place + 1)) >= 0:
                pairs = zip(value, text[place : place + len(value)], strict=False)
                same = next((n for n, (a, b) in enumerate(pairs) if a != b), len(value))
                yield place, min(place + same, len(text))


def _spellings(value: str) -> set[str]:
    quoted = json.dumps(value)[1:-1]
    return {value, quoted, quoted.replace("/", "\\/")}


def _without(spans: Sequence[tuple[int, int]], texts: Sequence[str]) -> list[str]:
    """The texts, a mask in each span's place; a span may begin in one text and end in another."""
    pieces, begin = list[str](), 0
    for text in texts:
        piece, done = "", 0
        for start, end in ((start - begin, end - begin) for start, end in spans):
            if start < len(text) and end > done:
                piece += text[done : max(start, done)] + (MASKED if start >= done else "")
                done = min(end, len(text))
        pieces.append(piece + text[done:])
        begin += len(text)
    return pieces


def _streams(events: Iterable[Event]) -> Iterable[Sequence[Event]]:
    """The fragments of each text: the answer, the thinking, one call's arguments or output."""
    found: dict[object, list[Event]] = {}
    for kind, group in groupby(events, type):
        if kind is TextDelta or kind is ReasoningDelta:
            found.setdefault(kind, []).extend(group)
        elif kind is ToolCallDelta or kind is ToolProgress:
            for event in group:
                found.setdefault((kind, _part(event)), []).append(event)
    return found.values()


def _part(event: Any) -> object:
    return event.index if isinstance(event, ToolCallDelta) else event.call.id


def _text(event: Any) -> str:
    text: str = event.fragment if isinstance(event, ToolCallDelta) else event.text
    return text


def _with_text(event: Any, text: str) -> Event:
    if isinstance(event, ToolCallDelta):
        return ToolCallDelta(event.index, text)
    if isinstance(event, ToolProgress):
        return replace(event, text=text)
    return type(event)(text)  # type: ignore[no-any-return]  # TextDelta or ReasoningDelta
