"""The way from a folder to one below it, from descriptor to descriptor: see descent.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def way_down(
    top: Path, parts: Iterable[str], flags: int, step: Callable[[int, str], int] | None = None
) -> Iterator[int]:
    """A descriptor of the folder `parts` below `top`, closed at the end.

    flags: how folders are opened. step(folder, name): opens the next one; by default with
    `flags`, so that OSError tells of a link or of nothing on the way.
    """
    descriptor = os.open(top, flags)
    try:
        for part in parts:
            below = step(descriptor, part) if step else os.open(part, flags, dir_fd=descriptor)
            above, descriptor = descriptor, below
            _let_go(above)
        yield descriptor
    finally:
        _let_go(descriptor)


def _let_go(folder: int) -> None:
    with suppress(OSError):  # nothing was written to it: what was done in it is done
        os.close(folder)
