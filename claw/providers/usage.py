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
    )


def _path(counts: Mapping[str, Any], outer: str, inner: str) -> Any:
    details = counts.get(outer)
    return details.get(inner) if isinstance(details, dict) else None


def _first_count(values: Iterable[Any]) -> int:
    return next((value for value in values if type(value) is int and value >= 0), 0)
