"""Writing requests: compact JSON, and names that servers take."""

from __future__ import annotations

import json
import re
from typing import Any

NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")  # a history with such a name is refused
LONGEST_NAME = 64


def to_json(value: Any) -> bytes:
    """Compact JSON; what isn't Unicode (half a surrogate pair from a file) becomes "?"."""
    text = strict_json(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def strict_json(value: Any, **options: Any) -> str:
    """`json.dumps`, as the standard has it: null stands for NaN and Infinity, which aren't JSON."""
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:
        finite = json.loads(json.dumps(value), parse_constant=lambda name: None)
        return json.dumps(finite, **options)


def sendable_name(name: str) -> str:
    """A tool's name as a model wrote it, fit to be sent back."""
    return NOT_IN_A_NAME.sub("_", name)[:LONGEST_NAME] or "unnamed"
