"""A tool call's arguments: the text as received, read as a JSON object or not at all.

Only what was certainly meant is taken beyond strict JSON (see `parse_arguments`). A repaired guess
would be run as a command, so everything else is an error the model is told about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from claw.providers.fragments import mend_json
from claw.providers.nesting import too_deep

BLANKS = " \t\r\n"  # JSON's own; str.strip() knows more
ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_arguments(raw: str) -> tuple[Mapping[str, Any], str | None]:
    """The arguments and None; or `{}` and, in the parser's words, why they can't be used.

    Nothing, blanks and `null` mean `{}`. Taken as well: raw control characters inside strings; a
    JSON string that holds the object; the same whole object a second time. NaN and Infinity, also
    as a number too large for a float, aren't JSON: they could not be sent back.
    """
    text = raw.strip(BLANKS)
    if text in ("", "null"):
        return {}, None
    try:
        return _as_object(text), None
    except RecursionError:
        return {}, "nested too deeply"
    except ValueError as error:  # a JSONDecodeError, or an integer of too many digits
        return {}, str(error)


def json_text(value: Any) -> str:
    """Arguments are JSON in a string; a server that sends them bare means the same."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _as_object(text: str) -> Mapping[str, Any]:
    value, end = _first_value(text)
    if isinstance(value, str) and end == len(text) and value.lstrip(BLANKS).startswith("{"):
        text = value.strip(BLANKS)
        value, end = _first_value(text)
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object but {_kind(value)}")
    rest = text[end:].strip(BLANKS)
    if rest and not _is_again(value, rest):
        raise json.JSONDecodeError("Extra data", text, end)
    if ESCAPED_SURROGATE.search(text):
        value = mend_json(value)
    return dict(value)


def _first_value(text: str) -> tuple[Any, int]:
    """The JSON value that `text` begins with, and where it ends."""
    if too_deep(text):
        raise ValueError("nested too deeply")
    decoder = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_refuse)
    return decoder.raw_decode(text)


def _is_again(value: Any, text: str) -> bool:
    """Whether `text` is the same whole object once more."""
    again, end = _first_value(text)
    return end == len(text) and json.dumps(again, sort_keys=True) == json.dumps(
        value, sort_keys=True
    )


def _finite(digits: str) -> float:
    number = float(digits)
    return number if abs(number) != float("inf") else _refuse(digits)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _kind(value: Any) -> str:
    return {list: "a list", str: "a string", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )
