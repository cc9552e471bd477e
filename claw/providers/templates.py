"""Templates: reading the thousandth delta of a reply without parsing its JSON again.

The chunks of a reply differ in one string, the piece of text or of arguments, and with some
servers in a second one behind it, random padding that hides how long the first is. When all
characters before, between and after the two are those of a chunk that was parsed in full, and the
JSON string scanner stops exactly where they begin again, then the parser would have gone through
the same states and found the same values but for those strings: the result is the same by
construction. Any other chunk is parsed in full. This takes more than half off a delta's cost.
"""

from __future__ import annotations

import json
import json.decoder
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeAlias

from claw.events import StreamEvent
from claw.values import frozen

Take: TypeAlias = Callable[[str, list[StreamEvent]], int]

MOST_KEPT = 8  # tool calls that are written side by side have a template each
MOST_MISSES = 64  # chunks in a row; then this server's aren't alike
scanstring: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
MARK = "\ue000a mark\ue000"
PADDING_MARK = "\ue000another mark\ue000"


@frozen
class Hole:
    """The string by which chunks of a kind differ: `container[key]`, in a parsed payload.

    take(text, deltas): does with another such string what folding its whole chunk would do.
    """

    container: dict[str, Any]
    key: str
    take: Take


@frozen
class Template:
    """A chunk with its holes cut out: what is left ends and begins with the strings' quotes.

    between: from the text to the padding, "" where there is no padding.
    """

    before: str
    between: str
    after: str
    take: Take

    def text_in(self, data: str) -> str | None:
        """The text of a chunk that begins and ends in this way; None if something else differs.
        Raises ValueError for a broken string."""
        text, end = scanstring(data, len(self.before), True)
        if self.between:
            if not data.startswith(self.between, end - 1):
                return None
            _, end = scanstring(data, end - 1 + len(self.between), True)
        return text if end - 1 == len(data) - len(self.after) else None

    def filled_with(self, text: str, padding: str) -> str:
        """A chunk of this kind. Neither string needs escapes."""
        padded = self.between + padding if self.between else ""
        return self.before + text + padded + self.after


class Templates:
    """The templates of one reply. For one thread.

    padding: the key of a string at the top of a payload that nobody reads; "" for none.
    """

    def __init__(self, padding: str = "") -> None:
        self._padding = padding
        self._kept: list[Template] = []
        self._misses = 0

    def find(self, data: str) -> tuple[Take, str] | None:
        """What to do with a chunk and with which string, if it is of a kind that is known."""
        for template in self._kept:
            if data.startswith(template.before) and data.endswith(template.after):
                try:
                    text = template.text_in(data)
                except ValueError:
                    return None  # the parser says what is wrong
                if text is not None:
                    self._misses = 0
                    return template.take, text
        return None

    def learn(self, data: str, payload: dict[str, Any], hole: Hole) -> None:
        """Makes a template of a chunk that was parsed in full, if it is certain to be right."""
        self._misses += 1
        if self._misses > MOST_MISSES:
            self._kept.clear()
            return
        for template in self._candidates(data, payload, hole):
            if self._is_exact(template, payload, hole):
                self._kept = [template, *self._kept[: MOST_KEPT - 1]]
                return

    def _candidates(self, data: str, payload: dict[str, Any], hole: Hole) -> Iterator[Template]:
        """What the holes of a chunk may be, by the looks of it."""
        padding = payload.get(self._padding)
        for start, end in _places(data, hole.key, hole.container[hole.key]):
            before, rest = data[:start], data[end:]
            if self._padding and isinstance(padding, str):
                for first, last in _places(rest, self._padding, padding):
                    yield Template(before, rest[:first], rest[last:], hole.take)
            yield Template(before, "", rest, hole.take)

    def _is_exact(self, template: Template, payload: dict[str, Any], hole: Hole) -> bool:
        """Whether other strings in the holes would change the payload there and nowhere else."""
        text, padding = hole.container[hole.key], payload.get(self._padding)
        hole.container[hole.key] = MARK
        if template.between:
            payload[self._padding] = PADDING_MARK
        try:
            return bool(json.loads(template.filled_with(MARK, PADDING_MARK)) == payload)
        except ValueError:
            return False
        finally:
            hole.container[hole.key] = text
            if template.between:
                payload[self._padding] = padding


def _places(data: str, key: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a string under `key` reads `text`: from behind its first quote to its last."""
    for found in re.finditer(rf'"{key}"\s*:\s*"', data):
        with suppress(ValueError):
            value, end = scanstring(data, found.end(), True)
            if value == text:
                yield found.end(), end - 1
