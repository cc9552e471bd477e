"""Which paths in the writable folders a command leaves as they are, as things are now.

The list is that of claw/tools/protected.py: what runs, or is obeyed, at the user's next step, so
that whoever may write it gets out of the sandbox a little later. Whether it exists or not: a
settings file that was missing at first was made inside and obeyed outside (CVE-2026-25724).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from claw.tools.git_folders import GIT_PARTS
from claw.tools.protected import guarded_paths
from claw.values import frozen


@frozen
class GuardedPath:
    """A file or folder below a root. name: relative to it; no part but the last was a link.

    settings_only: of a folder, just the .toml and .json files in it: claw writes the rest itself.
    """

    root: Path
    name: str
    settings_only: bool = False

    @property
    def path(self) -> Path:
        return self.root / self.name

    @property
    def can_be_mounted(self) -> bool:
        """Whether it is there; a mount on a link would go to its target, which is listed too."""
        return self.path.exists() and not self.path.is_symlink()


@frozen
class GuardedPaths:
    """paths: each once. whole: every folder was looked at for repositories."""

    paths: tuple[GuardedPath, ...] = ()
    whole: bool = True


def guarded_in(
    roots: Sequence[Path], own_folders: Iterable[Path], git_folders: Sequence[Path] = ()
) -> GuardedPaths:
    """All arguments are real paths. git_folders: those that lie outside the roots, and that
    commands may write in."""
    found: dict[Path, GuardedPath] = {}
    whole = True
    for root in roots:
        guarded = guarded_paths(root)
        whole = whole and guarded.whole
        for path in guarded.paths:
            _add(found, roots, path)
    for folder in own_folders:
        _add(found, roots, folder, settings_only=True)
    for folder in git_folders:
        for name in (*GIT_PARTS, "gitdir"):
            _add(found, git_folders, folder / name)
    return GuardedPaths(tuple(found.values()), whole)


def _add(
    found: dict[Path, GuardedPath],
    roots: Sequence[Path],
    path: Path,
    *,
    settings_only: bool = False,
) -> None:
    for each in _places(path):
        root = next((root for root in roots if each.is_relative_to(root) and each != root), None)
        if root is not None:
            name = str(each.relative_to(root))
            found.setdefault(each, GuardedPath(root, name, settings_only))


def _places(path: Path) -> Iterator[Path]:
    """Where it is, and where the link leads that it may be."""
    yield Path(os.path.realpath(path.parent)) / path.name
    if path.is_symlink():
        yield Path(os.path.realpath(path))
