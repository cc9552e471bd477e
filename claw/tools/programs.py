"""Programs that claw starts by itself, unasked: none that a command could have put there.

A folder of PATH may lie in the workspace (`.venv/bin`), or be reached through a link there, and so
may claw's own Python. What stands there is run outside of any sandbox, so a confined command that
writes it would get out. The tools that write files could put it there too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

MOST_LINKS = 40  # as many as Linux follows


def folders_of_path(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders of PATH; without relative ones, which mean the workspace."""
    folders = [Path(name) for name in environ.get("PATH", "").split(":")]
    return tuple(folder for folder in folders if folder.is_absolute())


def trusted_program(name: str, path: Iterable[Path], roots: Sequence[Path]) -> Path | None:
    """The first program of that name in the folders of `path` that nothing in `roots` has to do
    with: neither it nor any link on the way to it lies there. roots: real paths."""
    for program in (folder / name for folder in path):
        if os.access(program, os.X_OK) and program.is_file() and not _touches(program, roots):
            return program
    return None


def shell_program(env: Mapping[str, str], roots: Sequence[Path]) -> Path | None:
    """The bash that runs command lines: a trusted one, and any where the workspace holds the
    system's own programs."""
    path = folders_of_path({"PATH": env.get("PATH", os.defpath)})
    return trusted_program("bash", path, roots) or trusted_program("bash", path, ())


def trusted_python(path: Iterable[Path], roots: Sequence[Path]) -> Path | None:
    """A Python to start with -I: ours, of a virtual environment the one beneath it, else the
    first trusted one of `path`."""
    # Resolved, since a `.venv` may lie in the workspace. Its links are as they were when claw was
    # started by them, so ask before any command runs.
    ours = Path(os.path.realpath(sys.executable))
    if sys.executable and not any(ours.is_relative_to(root) for root in roots):
        return ours
    return trusted_program("python3", path, roots)


def _touches(program: Path, roots: Sequence[Path]) -> bool:
    """Whether it lies in one of `roots`, or what leads to it does."""
    return any(step.is_relative_to(root) for step in _steps(program) for root in roots)


def _steps(path: Path) -> Iterator[Path]:
    """Every file, folder and link that is looked at on the way to where `path` leads."""
    at, links = Path("/"), 0
    waiting = list(reversed(path.parts))
    while waiting:
        part = waiting.pop()
        at = at.parent if part == ".." else at / part  # "/" begins anew
        yield at
        if part not in ("/", "..") and at.is_symlink() and links < MOST_LINKS:
            links += 1
            waiting += reversed(Path(os.readlink(at)).parts)
            at = at.parent
