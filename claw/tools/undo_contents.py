"""Contents kept for later: small ones in memory, the others in files that only we can read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from claw.tools.atomic import write_all
from claw.tools.digest import digest_of
from claw.tools.open_flags import NEW_FILE
from claw.tools.temp_folder import TempFolder
from claw.values import frozen

LARGEST_HELD = 64_000
MOST_HELD = 8_000_000


@frozen
class Kept:
    """One content. held: its bytes, or the file that has them. digest: see `digest_of`."""

    held: bytes | Path
    size: int
    digest: bytes


class KeptContents:
    """The contents, and the folder of their files, which goes with `close()`.

    For one thread at a time.
    """

    def __init__(self) -> None:
        self.size = 0
        self._in_memory = 0
        self._count = 0
        self._folder = TempFolder("undo")

    def keep(self, data: bytes) -> Kept:
        """OSError when there is no place for it."""
        in_memory = len(data) <= LARGEST_HELD and len(data) + self._in_memory <= MOST_HELD
        held = data if in_memory else self._written(data)
        self._in_memory += len(data) * in_memory
        self.size += len(data)
        return Kept(held, len(data), digest_of(data))

    def read(self, kept: Kept) -> bytes:
        """The content, byte by byte. OSError when its file can't be read, or holds another."""
        data = kept.held if isinstance(kept.held, bytes) else kept.held.read_bytes()
        if digest_of(data) != kept.digest:
            raise OSError(0, "the content that was kept of it has been changed")
        return data

    def drop(self, kept: Kept) -> None:
        self.size -= kept.size
        if isinstance(kept.held, bytes):
            self._in_memory -= kept.size
        else:
            with suppress(OSError):
                kept.held.unlink()

    def close(self) -> None:
        self._folder.close()

    def _written(self, data: bytes) -> Path:
        self._count += 1
        path = self._folder.path() / str(self._count)
        descriptor = os.open(path, NEW_FILE, 0o600)
        try:
            try:
                write_all(descriptor, data)
            finally:
                os.close(descriptor)
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise
        return path
