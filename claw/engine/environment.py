"""The environment for what tools start: without the keys of model servers."""

from __future__ import annotations

from collections.abc import Mapping

from claw.providers.presets import KEY_VARIABLES


def without_keys(env: Mapping[str, str], provider: object) -> dict[str, str]:
    """`env` without CLAW_API_KEY, every preset's key variable, and every variable whose value is
    one of the provider's own `secrets` (where it has any)."""
    secrets = getattr(provider, "secrets", ())
    return {
        name: value
        for name, value in env.items()
        if name not in KEY_VARIABLES and value not in secrets
    }
