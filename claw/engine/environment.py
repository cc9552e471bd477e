"""The environment for what tools start: without the keys of model servers."""

from __future__ import annotations

from collections.abc import Mapping

KEYS = ("CLAW_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def without_keys(env: Mapping[str, str], provider: object) -> dict[str, str]:
    """`env` without CLAW_API_KEY, every preset's key variable, and every variable whose value is
    the provider's own key (its `api_key`, where it has one)."""
    key = getattr(provider, "api_key", None)
    return {name: value for name, value in env.items() if name not in KEYS and value != key}
