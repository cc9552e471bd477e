"""What the built-in tools remember in a session: under which family, and how it is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

FILES_FAMILY = "files"
SHELL_FAMILY = "shell"


def kept_in(state: dict[str, Any], key: str, kind: type[T], make: Callable[[], T]) -> T:
    """The value of a family's state, made when first asked for. Any thread may call: where two
    make one at once, both get the same, so making one must touch nothing yet."""
    found = state.get(key)
    if found is None:
        found = state.setdefault(key, make())
    assert isinstance(found, kind)
    return found
