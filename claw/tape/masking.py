"""Keys taken out of what a tape holds."""

from __future__ import annotations

import json
from collections.abc import Iterable

from claw.store.mask import SHORTEST, Mask


def spellings(secrets: Iterable[str]) -> set[str]:
    """Each secret, and how it may be written inside JSON."""
    found: set[str] = set()
    for secret in secrets:
        quoted = json.dumps(secret)[1:-1]
        found |= {secret, quoted, quoted.replace("/", "\\/")}
    return found


class BodyMask:
    """Masks a body that comes in pieces, also a key that is cut in two between them: what may be
    its beginning is held back until more has come."""

    def __init__(self, mask: Mask, secrets: Iterable[str]) -> None:
        self._mask = mask
        self._secrets = [secret for secret in secrets if len(secret) >= SHORTEST]
        self._held = ""

    def feed(self, text: str) -> str:
        """What is sure of the body so far and wasn't given yet."""
        text = self._held + text
        sure = len(text) - max((_overlap(text, secret) for secret in self._secrets), default=0)
        self._held = text[sure:]
        return self._mask.text(text[:sure])

    def end(self) -> str:
        """The rest, at the end of the body."""
        text, self._held = self._held, ""
        return self._mask.text(text)


def _overlap(text: str, secret: str) -> int:
    """How much of `secret`'s beginning, but not all of it, `text` ends with."""
    longest = min(len(secret) - 1, len(text))
    return next((n for n in range(longest, 0, -1) if text.endswith(secret[:n])), 0)
