"""What lies in a folder, seen and changed without following any link: by descriptors, not paths.

claw does this outside the sandbox, after a command that may have put a link in the way, and while
something it has left running may still do so.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path, PurePosixPath

from claw.values import frozen

MOST_ENTRIES = 2000
KEPT_BYTES = 1_000_000  # of one file; what is larger can't be put back
MOST_BYTES = 16_000_000  # of all that is kept of one folder
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen
class Entry:
    """One file, folder or link. stamp: what changes with the file. content: of a file, if it was
    small enough to keep, or where a link leads."""

    kind: str
    stamp: tuple[int, ...] = ()
    mode: int = 0
    content: bytes | None = None

    def is_like(self, other: Entry) -> bool:
        """Whether nothing worth telling has changed: a new time alone is not."""
        if self.kind != other.kind or self.kind == "folder":
            return self.kind == other.kind
        if self.stamp == other.stamp:
            return True
        known = self.content is not None
        return known and (self.mode, self.content) == (other.mode, other.content)


@contextmanager
def opened(root: Path, folder: PurePosixPath) -> Iterator[int]:
    """A descriptor of root/folder; OSError where it is gone or a link is on the way."""
    descriptor = os.open(root, FOLDER)
    try:
        for part in folder.parts:
            inner = os.open(part, FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def look(root: Path, name: str, known: Mapping[str, Entry], most: int = KEPT_BYTES) -> Entry | None:
    """What is at root/name, None if nothing. known: entries whose content needn't be read again.
    most: the bytes of content to keep."""
    path = PurePosixPath(name)
    try:
        with opened(root, path.parent) as folder:
            return _look(folder, path.name, known.get(name), most)
    except OSError:
        return None


def survey(root: Path, name: str, known: Mapping[str, Entry]) -> dict[str, Entry]:
    """What is at root/name and in it, by name; MOST_ENTRIES when there may be more."""
    found: dict[str, Entry] = {}
    room = MOST_BYTES
    names = [name]
    while names and len(found) < MOST_ENTRIES:
        name = names.pop()
        entry = look(root, name, known, min(room, KEPT_BYTES))
        if entry is not None:
            found[name] = entry
            room -= len(entry.content or b"")
            if entry.kind == "folder":
                names += [f"{name}/{each}" for each in listing(root, name)]
    return found


def listing(root: Path, name: str) -> list[str]:
    """The names in a folder, none where there is no such folder."""
    with suppress(OSError), opened(root, PurePosixPath(name)) as folder:
        return os.listdir(folder)
    return []


def first_link(root: Path, name: str) -> str | None:
    """The first part on the way to root/name, the last left out, that is no folder but is there."""
    for above in reversed(PurePosixPath(name).parents[:-1]):
        entry = look(root, str(above), {})
        if entry is not None and entry.kind != "folder":
            return str(above)
    return None


def move_aside(root: Path, name: str) -> str:
    """Renames root/name beside itself, to a name that nobody uses; the new name. OSError."""
    path = PurePosixPath(name)
    with opened(root, path.parent) as folder:
        taken = set(os.listdir(folder))
        free = (f"{path.name}.aside-{number}" for number in count(1))
        aside = next(each for each in free if each not in taken)
        os.rename(path.name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    return str(path.with_name(aside))


def put_back(root: Path, name: str, entry: Entry) -> bool:
    """Makes root/name as `entry` was; False when its content isn't known. OSError."""
    path = PurePosixPath(name)
    with opened(root, path.parent) as folder:
        if entry.kind == "folder":
            os.mkdir(path.name, 0o755, dir_fd=folder)
        elif entry.content is None:
            return False
        elif entry.kind == "link":
            os.symlink(entry.content, os.fsencode(path.name), dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(path.name, flags, 0o600, dir_fd=folder), "wb") as stream:
                stream.write(entry.content)
                os.fchmod(stream.fileno(), entry.mode)
    return True


def _look(folder: int, name: str, known: Entry | None, most: int) -> Entry:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    mode = stat.S_IMODE(status.st_mode)
    stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder")
    if known is not None and known.stamp == stamp:
        return known
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", stamp, 0, os.readlink(os.fsencode(name), dir_fd=folder))
    if stat.S_ISREG(status.st_mode):
        return Entry("file", stamp, mode, _content(folder, name, most))
    return Entry("special", stamp)


def _content(folder: int, name: str, most: int) -> bytes | None:
    # O_NONBLOCK: it may have become a named pipe since.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError), open(os.open(name, flags, dir_fd=folder), "rb") as stream:
        data = stream.read(most + 1)
        return data if len(data) <= most else None
    return None
