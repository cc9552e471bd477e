"""Replaces a file so that at every instant the old content or the new one is there, whole."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from claw.tools.open_flags import LISTED_FOLDER, NEW_FILE

CHANGED = "it was changed by somebody else at this moment; read it again"


def replace_file(
    folder: int, name: str, data: bytes, before: os.stat_result | None, mode: int | None = None
) -> None:
    """Writes `data` to a file beside `name`, syncs it, and renames it over `name`.

    folder: a descriptor (see descent.py), in which everything is named. before: the regular file
    that is replaced, None for no file; it keeps its owner, where that is allowed, and its mode
    unless `mode` gives another. OSError leaves everything as it was, also when the file is no
    longer the one of `before`, or may not be written.
    """
    temporary = f".claw-{os.urandom(8).hex()}.tmp"
    if mode is None and before is not None:
        mode = stat.S_IMODE(before.st_mode)
    descriptor = os.open(temporary, NEW_FILE, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        try:
            write_all(descriptor, data)
            if mode is not None:
                _take_over(descriptor, before, mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)  # may be what tells that the disk was full
        if not is_same_file(before, status_of(folder, name)):
            raise OSError(errno.EBUSY, CHANGED)
        # A rename needs no leave of the file itself; its mode is heeded all the same.
        if before is not None and not may_write(folder, name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    sync_folder(folder)


def status_of(folder: int, name: str) -> os.stat_result | None:
    """What stands there, a link not followed; None for nothing. OSError."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def is_same_file(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Whether nobody has written to it or put another in its place; two absent ones are the same.

    As far as the clock of the file system can tell: it may stand still for some milliseconds.
    """
    if one is None or other is None:
        return one is other
    return (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns) == (
        other.st_dev,
        other.st_ino,
        other.st_size,
        other.st_mtime_ns,
    )


def may_write(folder: int, name: str) -> bool:
    """Whether the file's mode lets us write it; as root always."""
    return os.access(name, os.W_OK, dir_fd=folder, effective_ids=True)


def write_all(descriptor: int, data: bytes) -> None:
    """All of it, in as many writes as the system wants. OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: int) -> None:
    """Makes a rename or a removal last; some file systems can't, and the content is safe anyway."""
    with suppress(OSError):
        # `folder` may be open for passing through only, which can't be synced.
        descriptor = os.open(".", LISTED_FOLDER, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _take_over(descriptor: int, before: os.stat_result | None, mode: int) -> None:
    now = os.fstat(descriptor)
    if before is not None and (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        try:
            os.fchown(descriptor, before.st_uid, before.st_gid)
        except PermissionError:  # only root may give files away: then nobody gets our rights
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
    os.fchmod(descriptor, mode)  # last: writing and chown clear setuid
