"""Names of sessions: sorted as text they are sorted by time, and a few letters are enough."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o and u, which are misread
ID = re.compile(rf"\d{{8}}-\d{{6}}-[{LETTERS}]{{6}}")


def new_id() -> str:
    """`20261130-124743-5tk3f9`: the second in UTC, then a tail of two letters for the part of that
    second (about a millisecond) and four at random (a million to one within it)."""
    now = time.time()
    part = int(now % 1 * 1024)
    second = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    tail = LETTERS[part // 32] + LETTERS[part % 32]
    return f"{second}-{tail}" + "".join(secrets.choice(LETTERS) for _ in range(4))


def matching(prefix: str, ids: Iterable[str]) -> list[str]:
    """The ids that `prefix` begins, from their start or from their tail; sorted."""
    prefix = prefix.strip().lower()
    if not prefix:
        return []
    return sorted(
        each
        for each in ids
        if each.startswith(prefix) or each.rpartition("-")[2].startswith(prefix)
    )
