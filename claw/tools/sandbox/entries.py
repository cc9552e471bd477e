"""What lies in a folder, seen and changed without following any link: by descriptors, not paths.

claw does this outside the sandbox, after a command that may have put a link in the way, and while
something it has left running may still do so.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from itertools import count
from pathlib import Path, PurePosixPath

from claw.tools.open_flags import LISTED_FOLDER, NEW_FILE, READING
from claw.tools.way_down import way_down
from claw.values import frozen

MOST_ENTRIES = 2000
LARGEST_KEPT = 1_000_000  # of one file; what is larger can't be put back
MOST_KEPT = 16_000_000  # of all that is kept of one folder


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


def opened(root: Path, folder: PurePosixPath) -> AbstractContextManager[int]:
    """A descriptor of root/folder; OSError where it is gone or a link is on the way."""
    return way_down(root, folder.parts, LISTED_FOLDER)


def look(
    root: Path, name: str, known: Mapping[str, Entry], most: int = LARGEST_KEPT
) -> Entry | None:
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
    room = MOST_KEPT
    names = [name]
    while names and len(found) < MOST_ENTRIES:
        name = names.pop()
        entry = look(root, name, known, min(room, LARGEST_KEPT))
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
            with open(os.open(path.name, NEW_FILE, 0o600, dir_fd=folder), "wb") as stream:
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
    with suppress(OSError), open(os.open(name, READING, dir_fd=folder), "rb") as stream:
        data = stream.read(most + 1)
        return data if len(data) <= most else None
    return None
