"""Token counts, under the names that servers give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from claw.messages import Usage


def chat_usage(counts: Mapping[str, Any]) -> Usage:
    """A Chat Completions `usage` object; a count that is missing or no number is 0."""
    cached = (
        _path(counts, "prompt_tokens_details", "cached_tokens"),
        counts.get("prompt_cache_hit_tokens"),  # DeepSeek
        counts.get("cache_read_input_tokens"),  # gateways in front of the Messages API
    )
    return Usage(
        input_tokens=_first_count([counts.get("prompt_tokens")]),
        output_tokens=_first_count([counts.get("completion_tokens")]),
        cached_tokens=_first_count(cached),
        reasoning_tokens=_first_count(
            [_path(counts, "completion_tokens_details", "reasoning_tokens")]
        ),
        cache_write_tokens=_first_count(
            [_path(counts, "prompt_tokens_details", "cache_write_tokens")]
        ),
    )


def messages_usage(counts: Mapping[str, int]) -> Usage:
    """What `take_largest` gathered. Messages counts the cached parts of the prompt apart."""
    cached = counts.get("cache_read_input_tokens", 0)
    created = counts.get("cache_creation_input_tokens", 0)
    return Usage(
        input_tokens=counts.get("input_tokens", 0) + created + cached,
        output_tokens=counts.get("output_tokens", 0),
        cached_tokens=cached,
        reasoning_tokens=counts.get("thinking_tokens", 0),
        cache_write_tokens=created,
    )


def take_largest(counts: dict[str, int], usage: Mapping[str, Any]) -> bool:
    """Adds a Messages `usage` object to `counts`; False if it said nothing new.

    Of each count the largest is kept: some servers begin with 0, and some end with it.
    """
    details = usage.get("output_tokens_details")
    found = {**usage, **(details if isinstance(details, dict) else {})}
    larger = {
        name: value
        for name, value in found.items()
        if type(value) is int and value >= 0 and value > counts.get(name, -1)
    }
    counts |= larger
    return bool(larger)


def _path(counts: Mapping[str, Any], outer: str, inner: str) -> Any:
    details = counts.get(outer)
    return details.get(inner) if isinstance(details, dict) else None


def _first_count(values: Iterable[Any]) -> int:
    return next((value for value in values if type(value) is int and value >= 0), 0)
