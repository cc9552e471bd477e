"""Journal: lines appended to one file, each whole or not at all, whatever the disk does.

What fails, and why this doesn't.

A process dies in the middle of a write. Each line with its end is one `write` to a file opened
for appending, so a cut can only stand at the end of the file; whoever opens it next ends the
fragment with a newline, and no later line is glued to it.

The disk is full. A write then leaves a part of the line there. The file is cut back to where the
line began, at once or else before the next try. A line that could not be written waits in memory,
and so do those behind it, in order: each later write tries again from the first of them. So the
file never lacks a line in the middle, and the program goes on.

A KeyboardInterrupt arrives between the write and the note that it was made. The line is still the
first that waits; where its write began was noted together with the line itself, and the size of
the file tells the next write whether it is there. A stale note belongs to a line that is gone.
Or it arrives between the queueing of a line and the note of what it stands for (`mark`): these
two are one tuple, replaced by one assignment.

Two processes have the session open. The file is locked by the first for as long as it is open;
the second is refused (BlockingIOError) and makes a copy. The lock belongs to the open file, so
it ends with the process, however that ends.

After a failed fsync nobody can say what is on the disk; it is told, and the next one tries again.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path

FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
CANT_SYNC = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
CANT_LOCK = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Journal:
    """Appends lines to the file `path`: to `file`, which is open and locked already, else to a
    new one, made when the first line comes.

    No method raises OSError: `tell` gets one line when writing begins to fail and one when it
    works again. Used by one thread at a time.
    """

    def __init__(self, path: Path, tell: Callable[[str], None], file: FileIO | None = None) -> None:
        self.path = path
        self._tell = tell
        self._file = file
        self._queue: tuple[tuple[bytes, ...], int] = ((), 0)
        self._begun: tuple[int, bytes] | None = None
        self._failing = False
        self._synced = True
        self._closed = False
        self._folder_synced = file is not None

    @property
    def waiting(self) -> tuple[bytes, ...]:
        """The lines that are not in the file yet."""
        return self._queue[0]

    @property
    def mark(self) -> int:
        """What the last line was given with; 0 at first."""
        return self._queue[1]

    def skip(self, mark: int) -> None:
        """Sets the mark, without a line."""
        self._queue = (self.waiting, mark)

    def write(self, line: bytes, mark: int) -> None:
        """Appends a line, given with its end; all lines that waited go before it. mark: whatever
        the caller wants to find noted, if the line was taken."""
        if self._closed:
            self.skip(mark)
            self._fails("it was closed before")
            return
        self._queue = ((*self.waiting, line), mark)
        self._drain()

    def sync(self) -> None:
        """Makes what was written last, also should the power fail."""
        self._drain()
        if self._file is None or self.waiting or self._closed:
            return
        self._synced = False
        try:
            os.fsync(self._file.fileno())
            if not self._folder_synced:
                _sync_folder(self.path.parent)
                self._folder_synced = True
        except OSError as error:
            self._fails(reason(error))
        else:
            self._synced = True
            self._works()

    def close(self) -> None:
        """Writes what waits, syncs, and lets the next process have the file. Safe to call twice."""
        if self._closed:
            return
        self.sync()
        self._closed = True
        if self.waiting:
            self._tell(
                f"the last {len(self.waiting)} records of this session could not be saved: "
                f"{self.path} ends before them"
            )
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _drain(self) -> None:
        if not self.waiting:
            return
        try:
            self._file = self._file or made_file(self.path)
            while self.waiting:
                self._write_first(self._file)
        except OSError as error:
            self._fails(reason(error))
        else:
            if self._synced:
                self._works()

    def _write_first(self, file: FileIO) -> None:
        """Writes the first line that waits, unless it is there already. OSError: it is not, and
        where the disk allows it no part of it either."""
        line, size = self.waiting[0], os.fstat(file.fileno()).st_size
        if self._begun is None or self._begun[1] is not line:
            self._begun = (size, line)
        start = self._begun[0]
        if size < start + len(line):
            if size > start:
                os.ftruncate(file.fileno(), start)
            written = file.write(line) or 0
            if written < len(line):
                os.ftruncate(file.fileno(), start)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._queue = (self.waiting[1:], self.mark)

    def _fails(self, why: str) -> None:
        if not self._failing:
            self._failing = True
            self._tell(
                f"this session can't be saved: {why}. What comes is kept in memory and written "
                f"once that works: {self.path}"
            )

    def _works(self) -> None:
        if self._failing:
            self._failing = False
            self._tell("this session is saved again; nothing of it is missing")


def made_file(path: Path) -> FileIO:
    """A new file for the user's eyes only, locked, in a folder that is made for it if need be."""
    private_folder(path.parent)
    # Opened from within FileIO: an interrupt between the two would leave the descriptor open.
    file = _locked(FileIO(os.fspath(path), "ab", opener=partial(os.open, mode=0o600)))
    if os.fstat(file.fileno()).st_size:
        file.close()
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    return file


def locked_file(path: Path) -> FileIO:
    """A file that is there, locked. BlockingIOError: another process has it open."""
    return _locked(FileIO(os.open(path, FLAGS), "ab"))


def private_folder(folder: Path) -> None:
    """Makes `folder` and the one it stands in, where they are missing, with mode 0700."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def _sync_folder(folder: Path) -> None:
    """Makes a new file's name last, too; some file systems can't."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in CANT_SYNC:
            raise
    finally:
        os.close(descriptor)


def reason(error: OSError) -> str:
    return error.strerror or str(error)


def _locked(file: FileIO) -> FileIO:
    descriptor = file.fileno()
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink == 0:  # removed between opening and locking
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    except OSError as error:
        if error.errno not in CANT_LOCK:  # a network disk without locks: better than no session
            file.close()
            raise
    return file
