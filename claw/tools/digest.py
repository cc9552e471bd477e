"""The digest by which contents are compared: of one at hand, or of one that comes in pieces."""

from __future__ import annotations

from hashlib import blake2b


def new_digest() -> blake2b:
    """Feed it by `update`; its `digest()` is then what `digest_of` gives for the whole."""
    return blake2b(digest_size=16)


def digest_of(data: bytes) -> bytes:
    """Of a content that is at hand as a whole."""
    digest = new_digest()
    digest.update(data)
    return digest.digest()
