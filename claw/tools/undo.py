"""UndoLog: what the file tools wrote, turn by turn, so that a turn's files can be put back.

Git isn't asked, nor touched: undo works in any folder, and leaves index and history alone. What
commands changed isn't recorded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from claw.errors import ToolError
from claw.tools.atomic import CHANGED, is_same_file, replace_file, status_of, sync_folder
from claw.tools.content import Content, content_at, remove_folders
from claw.tools.descent import folder_of, in_words
from claw.tools.digest import digest_of
from claw.tools.state import kept_in
from claw.tools.undo_contents import Kept, KeptContents
from claw.tools.workspace import Location

MOST_KEPT = 200_000_000


@dataclass
class Change:
    """One file of one turn. was_there, before, mode: what it was when the turn began; `before` is
    None too for a content that could not be kept. after: digest of what was written last.
    made: folders that were made for it. tried: putting it back has failed once."""

    place: Location
    was_there: bool
    before: Kept | None
    mode: int
    after: bytes
    made: set[Path]
    tried: bool = False


class UndoLog:
    """The changes of a session. Any thread may call; one call waits for the other.

    most_kept: bytes of all contents it keeps; beyond that the oldest turns are let go. A state
    dict of the session holds it (see `undo_in`), and closes it.
    """

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self._most_kept = most_kept
        self._turns: list[dict[Path, Change]] = [{}]
        self._numbers = [0]  # of these turns, among all
        self._count = 0
        self._contents = KeptContents()
        self._let_go = False
        self._lock = Lock()

    def new_turn(self) -> None:
        """What is written from now on is undone by itself. A turn that wrote nothing counts not."""
        with self._lock:
            self._count += 1
            if self._turns[-1]:
                self._turns.append({})
                self._numbers.append(0)
            self._numbers[-1] = self._count

    @property
    def turn(self) -> int:
        """The number of the turn that is going on."""
        return self._count

    @property
    def last_written(self) -> int | None:
        """The number of the turn that `undo_turn` would undo; None where there is none."""
        with self._lock:
            pairs = zip(reversed(self._numbers), reversed(self._turns), strict=True)
            return next((number for number, changes in pairs if changes), None)

    def record(
        self, place: Location, before: Content | None, after: bytes, made: Sequence[Path] = ()
    ) -> None:
        """A file was written: `before` is what it was, None for a new one. Never raises: what
        can't be kept is told when it is to be undone."""
        with self._lock:
            turn = self._turns[-1]
            change = turn.get(place.real)
            if change is None:
                kept = self._keep(before.data) if before else None
                mode = before.mode if before else 0
                change = Change(place, before is not None, kept, mode, b"", set())
                turn[place.real] = change
            change.after = digest_of(after)
            change.made.update(made)

    def undo_turn(self) -> list[str]:
        """Puts back the files of the last turn that wrote any; a second call goes one turn further.

        Returns a line for each: what was restored, and what was not and why. A file that somebody
        else has changed since is left alone. What the system refuses stays for one more try.
        """
        with self._lock:
            while len(self._turns) > 1 and not self._turns[-1]:
                self._turns.pop()
                self._numbers.pop()
            # The last first: a folder is empty again when the file it was made for goes.
            changes = reversed(list(self._turns[-1].values()))
            return [self._try(change) for change in changes] or [self._nothing()]

    def close(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._turns, self._numbers = [{}], [self._count]
            self._contents.close()

    def _keep(self, data: bytes) -> Kept | None:
        while self._contents.size + len(data) > self._most_kept and len(self._turns) > 1:
            self._numbers.pop(0)
            for change in self._turns.pop(0).values():
                self._drop(change)
            self._let_go = True
        if self._contents.size + len(data) > self._most_kept:
            return None
        try:
            return self._contents.keep(data)
        except OSError:
            return None

    def _drop(self, change: Change) -> None:
        if change.before is not None:
            self._contents.drop(change.before)

    def _try(self, change: Change) -> str:
        place = change.place
        try:
            words = self._undo(change)
        except (ToolError, OSError) as error:
            told = in_words(error, "restore", place.name) if isinstance(error, OSError) else error
            words = f"not restored: {told.message}"
            if not change.tried:
                change.tried = True
                return f"{words}; undo it once more to try again"
        del self._turns[-1][place.real]
        self._drop(change)
        return words

    def _undo(self, change: Change) -> str:
        """Puts one file back and says so, or why not. OSError, ToolError: nothing was done."""
        place, now = change.place, content_at(change.place)
        found = digest_of(now.data) if now else None
        if now is None and not change.was_there:
            remove_folders(place, tuple(change.made))
            return f"{place.name} is gone already"
        if change.before is not None and found == change.before.digest:
            return f"{place.name} is as it was already"
        if now is not None and found != change.after:
            return f"left {place.name} alone: it has been changed since, not by these tools"
        if not change.was_there:
            assert now is not None
            _remove(place, now)
            remove_folders(place, tuple(change.made))
            return f"removed {place.name}, which was new"
        if change.before is None:
            return f"left {place.name} alone: its earlier content could not be kept"
        _put_back(place, now, self._contents.read(change.before), change.mode)
        return f"restored {place.name}" + (", which had been deleted" if now is None else "")

    def _nothing(self) -> str:
        if self._let_go:
            return f"no earlier turn can be undone: {self._most_kept:,} bytes are kept in all"
        return "nothing to undo: no file was written"


def undo_in(state: dict[str, Any]) -> UndoLog:
    """The UndoLog of a tool family's state, made when first asked for."""
    return kept_in(state, "undo", UndoLog, UndoLog)


def _remove(place: Location, now: Content) -> None:
    with folder_of(place) as folder:
        # The content was just compared; this says that it is still the same file.
        if not is_same_file(now.status, status_of(folder, place.real.name)):
            raise ToolError(CHANGED)
        os.unlink(place.real.name, dir_fd=folder)
        sync_folder(folder)


def _put_back(place: Location, now: Content | None, data: bytes, mode: int) -> None:
    made: list[Path] = []
    try:
        with folder_of(place, made) as folder:
            replace_file(folder, place.real.name, data, now.status if now else None, mode)
    except BaseException:
        remove_folders(place, made)
        raise
