"""How long a reply may be where the user sets no limit: the Messages dialect wants one always."""

from __future__ import annotations

# By a part of the model's name, the first that fits: what its family can write, 64,000 at most.
# Thinking counts as well. The older ones refuse more, and all up to Opus 4.1 refuse a prompt that
# leaves less than this of their 200,000 tokens.
FAMILIES = (
    ("claude-3-5", 8_192),
    ("claude-3-7", 32_000),
    ("claude-3", 4_096),
    ("claude-opus-4-0", 32_000),
    ("claude-opus-4-1", 32_000),
    ("claude-opus-4-2025", 32_000),
    ("claude-sonnet-4-0", 32_000),
    ("claude-sonnet-4-2025", 32_000),
    ("claude", 64_000),
)
OTHERS = 8_192
"""Servers of other makers: a small model's context may be no longer than this."""


def output_limit(model: str) -> int:
    """Tokens; `model` as any server writes it ("anthropic/claude-opus-4.1", a date at the end)."""
    name = model.lower().replace(".", "-")
    return next((limit for part, limit in FAMILIES if part in name), OTHERS)
