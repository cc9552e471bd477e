"""Where a path leads: resolved through links, and inside the workspace or outside of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from claw.errors import ToolError
from claw.tools.protected import git_reason, protected_reason
from claw.values import frozen

Watcher: TypeAlias = Callable[[], None]


@frozen
class Location:
    """One path of a call. real: absolute, no links left in it. anchor: the root it lies in, or /;
    descent.py starts there. name: as people and the model see it, relative to the workspace where
    it lies inside. inside: may be written as ordinary files are. readable: may be read unasked."""

    real: Path
    anchor: Path
    name: str
    inside: bool
    readable: bool


class Workspace:
    """The folder a set of tools is bound to. Any thread may ask it.

    add_dirs: further folders that count as inside. protected: claw's own folders, which are never
    written unasked, wherever they lie.
    """

    def __init__(
        self,
        root: str | Path,
        add_dirs: Iterable[str | Path] = (),
        protected: Iterable[str | Path] = (),
    ) -> None:
        self.root = _real(root)
        self.roots = (self.root, *map(_real, add_dirs))
        self.protected = tuple(map(_real, protected))
        self._lent: set[Path] = set()
        self._watchers: set[Watcher] = set()

    def locate(self, path: str) -> Location:
        """Resolves `path`, relative to the root; it need not exist. ToolError if it can't be one.

        The deepest existing folder is resolved too, so a link to a folder outside can't smuggle a
        new file out; parts are compared whole, so /work-secrets is not inside /work.
        """
        if not path or "\0" in path:
            raise ToolError("path is empty or holds a NUL: give a path relative to the workspace")
        try:
            real = _real(os.path.join(self.root, os.path.expanduser(path)))
        except UnicodeEncodeError:
            raise ToolError(f"path can't be a file name: {path!r}") from None
        except OSError as error:  # a link that went away while it was read
            raise ToolError(f"can't find out where {path} leads: {error.strerror}") from None
        root = _holder(real, self.roots)
        anchor = root or _holder(real, self.lent)
        in_first = real.is_relative_to(self.root)
        return Location(
            real=real,
            anchor=anchor or Path(real.anchor),
            name=str(real.relative_to(self.root)) if in_first else str(real),
            inside=root is not None,
            readable=anchor is not None,
        )

    def outside(self, path: str, place: Location) -> str:
        """The words of a question about a path that lies, or leads, outside."""
        through = f"{path} leads through a link to " if self._lexical(path) != place.real else ""
        return f"outside the workspace {self.root}: {through}{place.real}"

    def protected_reason(self, path: str, place: Location) -> str | None:
        """Why writing `path` is asked about in every mode; None where it is no such path."""
        return (
            protected_reason(place.real, self.protected)
            or protected_reason(self._lexical(path), self.protected)
            or next(filter(None, (git_reason(place.real, root) for root in self.roots)), None)
        )

    def lend(self, folder: Path) -> None:
        """Lets a folder outside be read unasked, such as one that holds a command's output."""
        self._lent.add(_real(folder))

    @property
    def lent(self) -> tuple[Path, ...]:
        """The folders outside that may be read unasked."""
        return tuple(self._lent)  # in one step: any thread may add another

    def take_back(self, folder: Path) -> None:
        """It is asked about again."""
        self._lent.discard(_real(folder))

    def watch(self, watcher: Watcher) -> None:
        """To be called before each call of a tool, on that call's thread."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)

    def look(self) -> None:
        """Calls the watchers: something that runs may have changed what nobody may change."""
        for watcher in tuple(self._watchers):
            watcher()

    def _lexical(self, path: str) -> Path:
        return Path(os.path.normpath(os.path.join(self.root, os.path.expanduser(path))))


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


def _holder(path: Path, folders: Iterable[Path]) -> Path | None:
    """The first of `folders` that `path` lies in."""
    return next((folder for folder in folders if path.is_relative_to(folder)), None)
