"""Chat Completions: reasoning that the server wants back, kept on the way in, put back on the way
out. Which field a server uses is no standard, so what is sent back is what it sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from claw.messages import ReasoningBlock

# Of an entry of `reasoning_details`: what comes in fragments.
GROWING = ("text", "summary", "data")


# What a server may send along with its reasoning, to have it back as it was.
KEPT = ("reasoning_details", "extra_content")


def reasoning_keys(block: ReasoningBlock, wanted_field: str = "") -> dict[str, Any]:
    """The keys that `block` adds to the assistant message of the next request.

    `block.opaque` is a dict: "field" names the one that the text came in (`reasoning_content` or
    `reasoning`); `wanted_field` is the only one that the server knows. Empty for a block of
    another dialect.
    """
    if not isinstance(block.opaque, dict):
        return {}
    keys = {key: block.opaque[key] for key in KEPT if key in block.opaque}
    field = block.opaque.get("field")
    return {wanted_field or field: block.text, **keys} if field and block.text else keys


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
