"""Chat Completions: reasoning that the server wants back, kept on the way in, put back on the way
out. Which field a server uses is no standard, so what is sent back is what it sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from claw.messages import ReasoningBlock

# Of an entry of `reasoning_details`: what comes in fragments.
GROWING = ("text", "summary", "data")


def reasoning_keys(block: ReasoningBlock) -> dict[str, Any]:
    """The keys that `block` adds to the assistant message of the next request.

    `block.opaque` is a dict: "field" names the one that the text came in (`reasoning_content` or
    `reasoning`), all other keys go back as they are. Empty for a block of another dialect.
    """
    if not isinstance(block.opaque, dict):
        return {}
    keys = {key: value for key, value in block.opaque.items() if key != "field"}
    field = block.opaque.get("field")
    return {field: block.text, **keys} if field and block.text else keys


def join_details(details: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """OpenRouter's `reasoning_details`, of which each delta has fragments: one entry for each
    index and type, in order of appearance.
    """
    entries: dict[Any, dict[str, Any]] = {}
    growing: dict[Any, dict[str, list[str]]] = {}
    for number, detail in enumerate(details):
        index = detail.get("index")
        key = (index if isinstance(index, int) else f"entry {number}", str(detail.get("type")))
        entry = entries.setdefault(key, {})
        for name, value in detail.items():
            if name in GROWING and isinstance(value, str):
                entry[name] = ""  # keeps the place; filled in below
                growing.setdefault(key, {}).setdefault(name, []).append(value)
            elif value is not None or name not in entry:
                entry[name] = value
    for key, texts in growing.items():
        entries[key].update({name: "".join(pieces) for name, pieces in texts.items()})
    return list(entries.values())
