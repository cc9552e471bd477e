"""The walk over a folder: its files by path, sorted, without junk and what git ignores.

It goes down from descriptor to descriptor, as descent.py does, so a folder that becomes a link
meanwhile isn't followed. An ignored folder isn't looked into.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Generator
from dataclasses import dataclass
from pathlib import Path

from claw.cancel import CancelToken
from claw.tools.descent import open_folder
from claw.tools.ignore import IgnoreFile, is_ignored, read_ignore_file
from claw.tools.open_flags import LISTED_FOLDER
from claw.tools.workspace import Location

MOST_DEEP = 100  # each level holds a descriptor
CANCEL_EVERY = 1_000


@dataclass
class Level:
    """A folder that is being walked. path: relative to where the walk began, with a / at its end.
    entries: what is still to come, the last first."""

    descriptor: int
    path: str
    entries: list[os.DirEntry[str]]
    ignores: tuple[IgnoreFile, ...]


class Walk:
    """One walk. `ignored` has what git ignores, as far as the walk has come; a folder ends in /.

    Naming an ignored folder itself shows it: then the rules above it don't count.
    """

    def __init__(self, place: Location, leave_out: Collection[str], cancel: CancelToken) -> None:
        self.ignored: list[str] = []
        self._place = place
        self._leave_out = frozenset(leave_out)
        self._cancel = cancel
        self._top = rules_begin_at(place)
        self._lead = _lead(self._top, place.real)

    def files(self, *, regular: bool = False) -> Generator[str, None, None]:
        """The paths, relative to the folder. `regular`: without links, pipes and devices.

        What can't be looked into is passed over; ToolError if that is the folder itself. Raises
        Cancelled. Whoever doesn't come to the end closes it.
        """
        ignores = self._ignores_above()
        levels = [self._enter(open_folder(self._place), "", ignores)]
        count = 0
        try:
            while levels:
                level = levels[-1]
                if not level.entries:
                    os.close(levels.pop().descriptor)
                    continue
                count += 1
                if count % CANCEL_EVERY == 1:
                    self._cancel.raise_if_cancelled()
                entry = level.entries.pop()
                path, is_folder = level.path + entry.name, _is_folder(entry)
                if is_ignored(level.ignores, self._lead + path, entry.name, is_folder):
                    self.ignored.append(f"{path}/" if is_folder else path)
                elif is_folder and len(levels) < MOST_DEEP:
                    self._descend(levels, level, entry.name)
                elif not is_folder and (not regular or entry.is_file(follow_symlinks=False)):
                    yield path
        finally:
            for level in levels:
                os.close(level.descriptor)

    def _descend(self, levels: list[Level], level: Level, name: str) -> None:
        try:
            descriptor = os.open(name, LISTED_FOLDER, dir_fd=level.descriptor)
        except OSError:
            return
        levels.append(self._enter(descriptor, f"{level.path}{name}/", level.ignores))

    def _enter(self, descriptor: int, path: str, ignores: tuple[IgnoreFile, ...]) -> Level:
        """Reads what is in a folder, its .gitignore first. It owns the descriptor."""
        try:
            with os.scandir(descriptor) as found:
                entries = {entry.name: entry for entry in found}
        except OSError:
            entries = {}
        base = len(self._lead) + len(path)
        if ".git" in entries:  # a repository has its own rules alone
            exclude = read_ignore_file(".git/info/exclude", base, descriptor)
            ignores = (exclude,) if exclude else ()
        if ".gitignore" in entries:
            own = read_ignore_file(".gitignore", base, descriptor)
            ignores = (*ignores, own) if own else ignores
        names = sorted(entries.keys() - self._leave_out, key=os.fsencode, reverse=True)
        return Level(descriptor, path, [entries[name] for name in names], ignores)

    def _ignores_above(self) -> tuple[IgnoreFile, ...]:
        """The rules of the folders above, none if they ignore the folder of the walk."""
        found: list[IgnoreFile] = []
        folder = self._top
        for name in self._place.real.relative_to(self._top).parts:
            lead = _lead(self._top, folder)
            files = (".git/info/exclude", ".gitignore") if folder == self._top else (".gitignore",)
            read = (read_ignore_file(folder / file, len(lead)) for file in files)
            found.extend(file for file in read if file is not None)
            if is_ignored(found, lead + name, name, is_folder=True):
                return ()
            folder /= name
        return tuple(found)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False  # it has just gone


def rules_begin_at(place: Location) -> Path:
    """The folder of the repository that `place` is in, where there is none its root."""
    for folder in (place.real, *place.real.parents):
        if os.path.lexists(folder / ".git"):
            return folder
    return place.anchor if place.readable else place.real


def _lead(top: Path, folder: Path) -> str:
    """What stands in front of a path in `folder` when it is seen from `top`."""
    return "" if folder == top else f"{folder.relative_to(top).as_posix()}/"
