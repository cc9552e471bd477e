"""A system that refuses one operation: the n-th of those a program asks `os` for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Everything by which claw touches files. What only asks (lstat, stat) fails as well.
OPERATIONS = (
    "open",
    "close",
    "write",
    "fsync",
    "replace",
    "mkdir",
    "rmdir",
    "unlink",
    "fchmod",
    "fchown",
    "fstat",
    "stat",
    "lstat",
    "readlink",
    "scandir",
)


class Faults:
    """Counts the operations of this thread, and lets the one with the number `fail_at` fail."""

    def __init__(self, fail_at: int = 0, number: int = 0) -> None:
        self.asked: list[str] = []
        self._fail_at = fail_at
        self._number = number

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Stands in for `os`, and only there: claw itself is as it is."""
        thread, before = threading.get_ident(), {name: getattr(os, name) for name in OPERATIONS}

        def standing_in_for(name: str) -> Any:
            def operation(*arguments: Any, **more: Any) -> Any:
                if threading.get_ident() != thread:
                    return before[name](*arguments, **more)
                self.asked.append(name)
                fails = len(self.asked) == self._fail_at
                if fails and name != "close":
                    raise OSError(self._number, os.strerror(self._number))
                result = before[name](*arguments, **more)
                if fails:  # the descriptor is gone, and what was written may be lost
                    raise OSError(self._number, os.strerror(self._number))
                return result

            return operation

        for name in OPERATIONS:
            setattr(os, name, standing_in_for(name))
        try:
            yield
        finally:
            for name, function in before.items():
                setattr(os, name, function)
