"""Bytes cut into pieces, as a network may cut them."""

from __future__ import annotations

from itertools import pairwise


def cut(body: bytes, places: list[int]) -> list[bytes]:
    """`body` in pieces, cut at `places`, some of which may be outside of it."""
    edges = sorted({0, len(body), *(place for place in places if place < len(body))})
    return [body[start:end] for start, end in pairwise(edges)]
