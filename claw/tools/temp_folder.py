"""TempFolder: a session's own folder for files that nobody else may look at."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeAlias

Told: TypeAlias = Callable[[Path], None]


class TempFolder:
    """Made when first needed, gone with `close()`. Any thread may call.

    what: a word in its name, for whoever looks into /tmp. on_made, on_gone: told its path, before
    anything is in it and before it goes.
    """

    def __init__(self, what: str, on_made: Told | None = None, on_gone: Told | None = None) -> None:
        self._prefix = f"claw-{what}-"
        self._on_made = on_made
        self._on_gone = on_gone
        self._made: Path | None = None
        self._lock = Lock()

    @property
    def made(self) -> Path | None:
        """Its path, None where nobody needed it yet."""
        return self._made

    def path(self) -> Path:
        """Its real path. OSError when there is no place for one."""
        with self._lock:
            if self._made is None:
                self._made = Path(tempfile.mkdtemp(prefix=self._prefix)).resolve()  # 0700
                if self._on_made is not None:
                    self._on_made(self._made)
            return self._made

    def close(self) -> None:
        with self._lock:
            folder, self._made = self._made, None
            if folder is not None:
                if self._on_gone is not None:
                    self._on_gone(folder)
                shutil.rmtree(folder, ignore_errors=True)
