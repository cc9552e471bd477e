"""Replaces a file so that at every instant the old content or the new one is there, whole."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def replace_file(target: Path, data: bytes) -> None:
    """Writes `data` to a file beside `target`, syncs it, and renames it over `target`.

    `target` has no link in it (see Workspace.locate); its folder exists. An existing file keeps
    its mode and, where that is allowed, its owner. OSError leaves everything as it was.
    """
    before = _status_of(target)
    temporary = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o666 if before is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                _take_over(descriptor, before)
            os.fsync(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


def _status_of(target: Path) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return os.lstat(target)
    return None


def _take_over(descriptor: int, before: os.stat_result) -> None:
    with suppress(PermissionError):  # only root may give files away
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))  # last: writing and chown clear setuid


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself last; some file systems can't, and the content is safe anyway."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
