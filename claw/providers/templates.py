"""Templates: reading the thousandth delta of a reply without parsing its JSON again.

The chunks of a reply differ in one string, the piece of text or of arguments. When the characters
before and after that string are those of a chunk that was parsed in full, and the JSON string
scanner stops exactly where they begin again, then the parser would have gone through the same
states and found the same values but for that string: the result is the same by construction. Any
other chunk is parsed in full. This takes more than half off the cost of a delta.
"""

from __future__ import annotations

import json
import json.decoder
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from claw.events import StreamEvent

Take: TypeAlias = Callable[[str, list[StreamEvent]], int]

MOST_KEPT = 8  # tool calls that are written side by side have a template each
MOST_MISSES = 64  # chunks in a row; then this server's aren't alike (random padding)
scanstring: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]
MARK = "\ue000a mark\ue000"


@dataclass(frozen=True, slots=True)
class Hole:
    """The string by which chunks of a kind differ: `container[key]`, in a parsed payload.

    take(text, deltas): does with another such string what folding its whole chunk would do.
    """

    container: dict[str, Any]
    key: str
    take: Take


@dataclass(frozen=True, slots=True)
class Template:
    """A chunk with a hole: `before` ends with the string's first quote, `after` has its last."""

    before: str
    after: str
    take: Take


class Templates:
    """The templates of one reply. For one thread."""

    def __init__(self) -> None:
        self._kept: list[Template] = []
        self._misses = 0

    def find(self, data: str) -> tuple[Take, str] | None:
        """What to do with a chunk and with which string, if it is of a kind that is known."""
        for template in self._kept:
            if data.startswith(template.before) and data.endswith(template.after):
                try:
                    text, end = scanstring(data, len(template.before), True)
                except ValueError:
                    return None  # the parser says what is wrong
                if end - 1 == len(data) - len(template.after):
                    self._misses = 0
                    return template.take, text
        return None

    def learn(self, data: str, payload: dict[str, Any], hole: Hole) -> None:
        """Makes a template of a chunk that was parsed in full, if it is certain to be right."""
        self._misses += 1
        if self._misses > MOST_MISSES:
            self._kept.clear()
            return
        for place in re.finditer(rf'"{hole.key}"\s*:\s*"', data):
            before = data[: place.end()]
            try:
                text, end = scanstring(data, len(before), True)
            except ValueError:
                continue
            after = data[end - 1 :]
            if text == hole.container[hole.key] and _is_hole(before, after, payload, hole):
                template = Template(before, after, hole.take)
                self._kept = [template, *self._kept[: MOST_KEPT - 1]]
                return


def _is_hole(before: str, after: str, payload: dict[str, Any], hole: Hole) -> bool:
    """Whether another string in this place would change the payload there and nowhere else."""
    text = hole.container[hole.key]
    hole.container[hole.key] = MARK
    try:
        return bool(json.loads(before + MARK + after) == payload)
    except ValueError:
        return False
    finally:
        hole.container[hole.key] = text
