"""A process in which the n-th system call of a kind fails. Run by tests/store/test_faults.py with
the library of faults.c loaded before libc:

    LD_PRELOAD=faults.so python -m tests.support.faulty faults.so FOLDER ENOSPC EINTR

Each fault that can be is made in turn, and everything that must hold is checked at once. Prints
how often each kind of call failed.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import json
import sys
from contextlib import suppress
from pathlib import Path

from claw.events import Notice, RunEvent
from claw.reporter import Reporter
from claw.session import Session
from claw.store import BlobFolder, SessionStore
from claw.store.replay import replay
from tests.support.storing import check_whole, file_of, working_engine

WRITE, SHORT_WRITE, FSYNC, OPEN, TRUNCATE, RENAME = KINDS = range(6)
NAMES = ("write", "short write", "fsync", "open", "truncate", "rename")
FOR_A_WHILE = 7


class Faults:
    def __init__(self, library: str) -> None:
        loaded = ctypes.CDLL(library)
        row = ctypes.c_int * len(KINDS)
        self._at, self._times = row.in_dll(loaded, "fault_at"), row.in_dll(loaded, "fault_times")
        self._seen = row.in_dll(loaded, "fault_seen")
        self._errno = ctypes.c_int.in_dll(loaded, "fault_errno")

    def arm(self, error: int, at: dict[int, int], times: int) -> None:
        """From now on the `at[kind]`-th call of each kind fails, and `times` - 1 after it."""
        self._errno.value = error
        for kind in KINDS:
            self._seen[kind], self._times[kind], self._at[kind] = 0, times, at.get(kind, 0)

    def disarm(self, kind: int) -> bool:
        """Whether a call of that kind has failed."""
        hit = bool(self._at[kind]) and self._seen[kind] >= self._at[kind]
        for each in KINDS:
            self._at[each] = 0
        return hit


class Notices(Reporter):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_event(self, event: RunEvent) -> None:
        if isinstance(event, Notice):
            self.lines.append(event.text)


def converse(faults: Faults, folder: Path, error: int, at: dict[int, int], times: int) -> bool:
    """Three turns, the faults falling somewhere in the first two. Whether one fell."""
    store, told = SessionStore(folder), Notices()
    engine, session = working_engine(told), store.new("/work", "m")
    faults.arm(error, at, times)
    for number in range(2):
        engine.run(session, f"prompt {number}")
    hit = faults.disarm(next(iter(at)))
    check_earlier(store, session)
    engine.run(session, "prompt 2")
    session.close()
    with store.open(str(session.id)) as again:
        assert again.messages == session.messages, (error, at, times)
        assert again.notices == [], (again.notices, error, at, times)
    harmless = error == errno.EINTR and SHORT_WRITE not in at  # Python tries again by itself
    if hit and not harmless:
        assert len(told.lines) in (1, 2), (told.lines, error, at, times)
        assert "can't be saved" in told.lines[0], told.lines
        if len(told.lines) == 2:
            assert "saved again" in told.lines[1], told.lines
    return hit


def check_earlier(store: SessionStore, session: Session) -> None:
    """What is in the file is the beginning of the conversation, whole records alone."""
    path = file_of(store, str(session.id))
    if not path.exists():
        return
    with open(path, "rb") as file:
        replayed = replay(file)
    if not replayed.closed:
        found = replayed.session.messages
        assert found == session.messages[: len(found)]
    check_whole(replayed.session.messages)


def keep_blob(faults: Faults, folder: Path, error: int, at: dict[int, int], times: int) -> bool:
    blobs = BlobFolder(folder)
    first = blobs.put(b"first")
    faults.arm(error, at, times)
    with suppress(OSError):
        blobs.put(b"second")
    hit = faults.disarm(next(iter(at)))
    assert blobs.get(first) == b"first"
    assert blobs.get(blobs.put(b"second")) == b"second"
    assert len(list(folder.iterdir())) == 2  # no draft is left
    return hit


def main(library: str, root: Path, errors: list[int]) -> None:
    faults = Faults(library)
    folders = (root / str(number) / "sessions" for number in itertools.count())
    converse(faults, next(folders), 0, {WRITE: 0}, 0)  # everything is imported then
    keep_blob(faults, next(folders), 0, {WRITE: 0}, 0)
    counts = dict.fromkeys(NAMES, 0)
    for scenario, kinds in (
        (converse, (WRITE, SHORT_WRITE, FSYNC, OPEN)),
        (keep_blob, (WRITE, FSYNC, OPEN, RENAME)),
    ):
        for error, kind, times in itertools.product(errors, kinds, (1, FOR_A_WHILE)):
            if error == errno.EINTR and scenario is keep_blob and kind == RENAME:
                continue  # rename is never interrupted
            n = 1
            while scenario(faults, next(folders), error, {kind: n}, times):
                counts[NAMES[kind]] += 1
                n += 1
    for n in itertools.count(1):  # the part that a short write left can't be taken away either
        at = {SHORT_WRITE: n, TRUNCATE: 1}
        if not converse(faults, next(folders), errno.EIO, at, 1):
            break
        counts[NAMES[TRUNCATE]] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [getattr(errno, name) for name in sys.argv[3:]])
