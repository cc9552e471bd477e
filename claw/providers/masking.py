"""Secrets taken out of what a server sent, before it is shown or logged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile

from claw.errors import ClawError, ProviderError

MASK = "[key]"
SHORTEST_SECRET = 8  # "none", "ollama" and the like are placeholders, and ordinary words
SHORTEST_PART = 12  # characters of a secret that are worth masking by themselves
SHORTEST_KEY = 3  # one or two characters stand in any text by chance, and tell nothing
SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie")


def secrets_of(key: str | None, headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must never be shown: the key, and what stands in headers that look like one."""
    values = [
        value.split()[-1]
        for name, value in headers.items()
        if value.strip() and any(part in name.lower() for part in SECRET_HEADERS)
    ]
    found = {value for value in [key or "", *values] if len(value) >= SHORTEST_SECRET}
    return tuple(sorted(found, key=len, reverse=True))


def without_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """`text` with each secret masked, and its beginning where a limit has cut the rest off."""
    for secret in secrets:
        text = text.replace(secret, MASK)
        while (place := text.find(secret[:SHORTEST_PART])) >= 0:
            rest = text[place:]
            same = sum(
                1
                for _ in takewhile(lambda pair: pair[0] == pair[1], zip(rest, secret, strict=False))
            )
            text = text[:place] + MASK + rest[same:]
    return text


def hidden(text: str, key: str | None) -> str:
    """`text`, which a server sent, without the key, whatever its length.

    A short key may be an ordinary word ("none", "ollama"): it counts where it stands alone. Not
    for claw's own words: "n[key] came" would tell the key, not hide it.
    """
    if not key or len(key) < SHORTEST_KEY:
        return text
    if len(key) >= SHORTEST_SECRET:
        return without_secrets(text, (key,))
    return re.sub(rf"(?<![^\W_]){re.escape(key)}(?![^\W_])", MASK, text)


def masked(error: ProviderError, secrets: tuple[str, ...], key: str | None) -> ProviderError:
    """`error` without the secrets and the key, in whatever the server said."""
    data = error.to_dict()
    cleaned = {
        name: hidden(without_secrets(value, secrets), key)
        if isinstance(value, str) and name != "kind"
        else value
        for name, value in data.items()
    }
    if cleaned == data:
        return error
    replacement = ClawError.from_dict(cleaned)
    assert isinstance(replacement, ProviderError)
    return replacement
