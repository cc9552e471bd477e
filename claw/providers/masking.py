"""The key taken out of what a server sent, before it is shown, whatever the key's length."""

from __future__ import annotations

import re

from claw.errors import ClawError, ProviderError
from claw.providers.endpoint import MASK, secrets_of, without_secrets

SHORTEST = 3  # one or two characters stand in any text by chance, and tell nothing


def hidden(text: str, key: str | None) -> str:
    """`text`, which a server sent, with `key` as [key].

    A key of 8 characters or more is found anywhere, also where a limit has cut its end off. A
    shorter one may be an ordinary word ("none", "ollama"): it counts where it stands alone.
    Not for claw's own words: "n[key] came" would tell the key, not hide it.
    """
    if not key or len(key) < SHORTEST:
        return text
    if secrets := secrets_of(key, {}):
        return without_secrets(text, secrets)
    return re.sub(rf"(?<![^\W_]){re.escape(key)}(?![^\W_])", MASK, text)


def hidden_in(error: ProviderError, key: str | None) -> ProviderError:
    """`error` without the key in what the server said."""
    data = error.to_dict()
    cleaned = {
        name: hidden(value, key) if isinstance(value, str) and name != "kind" else value
        for name, value in data.items()
    }
    if cleaned == data:
        return error
    replacement = ClawError.from_dict(cleaned)
    assert isinstance(replacement, ProviderError)
    return replacement
