"""From the data of one event (or a whole JSON body) to JSON payloads."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any, Literal, TypeAlias

from claw.providers.nesting import too_deep

Payload: TypeAlias = dict[str, Any]


class Mark(Enum):
    """What stands between payloads and is none."""

    DONE = "[DONE]"


DONE: Literal[Mark.DONE] = Mark.DONE

# A third cheaper than json.loads, which looks for a byte order mark and for blanks as well.
_raw_decode = json.JSONDecoder().raw_decode


def payloads_in(data: str) -> list[Payload | Mark]:
    """The JSON objects of one event, in order, DONE among them; raises ValueError if it isn't JSON.

    Nothing, the JSON null, and data that begins with a colon (a keep-alive comment inside a data
    line) give none. If the data isn't JSON as a whole but each of its lines is, the lines count
    one by one: some gateways forget the blank lines.
    """
    try:
        value, end = _raw_decode(data)
        if end == len(data) and not too_deep(data):
            return [value] if type(value) is dict else _objects(value)
    except (ValueError, RecursionError):  # the latter from what is far too deep
        pass
    try:
        return _parse(data)
    except ValueError:
        lines = data.split("\n")
        if len(lines) == 1:
            raise
        return [payload for line in lines for payload in _parse(line)]


def _parse(data: str) -> list[Payload | Mark]:
    text = data.strip()
    if not text or text.startswith(":"):
        return []
    if text == DONE.value:
        return [DONE]
    if too_deep(text):
        raise ValueError("nested too deeply")
    return _objects(json.loads(text))


def _objects(value: Any) -> list[Payload | Mark]:
    """An object, or the objects of a list; other JSON values say nothing."""
    return [item for item in (value if isinstance(value, list) else [value]) if type(item) is dict]
