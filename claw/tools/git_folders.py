"""Where git's own folders are, and what in them can start a program, by looking alone.

git is never run for that: its settings, which say what it runs, may be a command's. To git a folder
with a HEAD, `objects` and `refs` is a repository whatever its name, with its config beside it.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path

from claw.tools.globs import JUNK
from claw.tools.open_flags import READING
from claw.values import frozen

# Inside a git folder: what can start a program, or lead git to another folder that does.
GIT_PARTS = ("hooks", "config", "config.worktree", "commondir")
# What a git folder has in bulk, and no other repository lies in.
BULK = ("objects", "refs", "logs", "hooks", "info", "lfs")
MOST_FOLDERS = 10_000  # some 10 µs each
MOST_CONFIGS = 10
CONFIG_BYTES = 200_000
LINE_CHARS = 5_000  # more than a path may have
ENTRY = re.compile(
    r"(?:\[\s*(?P<section>[\w.-]++)[^]\n]*+\])?\s*(?:(?P<key>[a-z][\w-]*+)\s*=(?P<value>.*))?",
    re.IGNORECASE,
)
COMMENT = re.compile("[#;]")


@frozen
class GitFolders:
    """What was found below a folder. folders: git's own. pointers: files and links named `.git`
    that lead to one. whole: every folder was looked at but those of JUNK, which are left out."""

    folders: tuple[Path, ...]
    pointers: tuple[Path, ...]
    whole: bool


def git_folders_in(root: Path) -> GitFolders:
    """Those of `root` and below, the nearest first, in its first MOST_FOLDERS folders. Those of
    submodules and worktrees, which lie in others, are among them. No link is followed."""
    folders: list[str] = []
    pointers: list[str] = []
    waiting = deque([(str(root), False)])
    looked_at = 0
    while waiting and looked_at < MOST_FOLDERS:
        folder, in_git = waiting.popleft()
        looked_at += 1
        try:
            with os.scandir(folder) as entries:
                is_folder = {each.name: each.is_dir(follow_symlinks=False) for each in entries}
        except OSError:
            continue
        left_out: Collection[str] = JUNK
        if "HEAD" in is_folder and (in_git or looks_like_git(is_folder)):
            folders.append(folder)
            left_out = BULK
        below = [name for name, is_one in is_folder.items() if is_one and name not in left_out]
        waiting.extend((f"{folder}/{name}", in_git) for name in below)
        if ".git" in is_folder and not in_git:
            git = f"{folder}/.git"
            (folders if is_folder[".git"] else pointers).append(git)
            waiting.extend((f"{git}/{name}", True) for name in ("modules", "worktrees"))
    return GitFolders(tuple(map(Path, folders)), tuple(map(Path, pointers)), not waiting)


def looks_like_git(names: Collection[str]) -> bool:
    """Whether a folder with these names in it needs no more than a HEAD to be a repository."""
    return {"objects", "refs"} <= set(names) or "commondir" in names


def named_by_config(git: Path, top: Path | None = None) -> Iterator[Path]:
    """What the settings in a git folder name: a folder of hooks, and further files of settings.
    top: the folder of the files, by default the one around."""
    if top is None:
        top = git.parent if git.name == ".git" else git
    waiting = deque([git / "config", git / "config.worktree"])
    for _ in range(MOST_CONFIGS):
        if not waiting:
            return
        file = waiting.popleft()
        for section, key, value in _entries(_text_of(file)):
            path = Path(os.path.expanduser(value))
            if (section, key) == ("core", "worktree"):
                top = git / path
            elif (section, key) == ("core", "hookspath"):
                yield _normal(top / path)
            elif section in ("include", "includeif") and key == "path":
                yield _normal(file.parent / path)
                waiting.append(file.parent / path)


def git_folder_of(folder: Path) -> Path:
    """The git folder that holds the settings for the files of `folder`, if there is one."""
    git = pointed_at(folder / ".git") or folder / ".git"
    return _normal(git / _text_of(git / "commondir").strip())


def pointed_at(pointer: Path) -> Path | None:
    """The folder that a file named `.git` leads to; None where it is no such file."""
    text = _text_of(pointer)
    return _normal(pointer.parent / text[8:].strip()) if text.startswith("gitdir: ") else None


def git_folder_elsewhere(root: Path) -> tuple[Path, Path] | None:
    """Of a worktree or submodule whose git folder lies elsewhere: that folder, and the one that it
    shares with others (the same for a submodule). None where it doesn't lead back to `root`: then
    it is somebody else's, and the file in `root` says what it likes."""
    pointer = root / ".git"
    git = pointed_at(pointer)
    if git is None or Path(os.path.realpath(git)).is_relative_to(root):
        return None
    git = Path(os.path.realpath(git))
    if _normal(git / _text_of(git / "gitdir").strip()) == pointer:
        return git, Path(os.path.realpath(git_folder_of(root)))
    for section, key, value in _entries(_text_of(git / "config")):
        if (section, key) == ("core", "worktree") and Path(os.path.realpath(git / value)) == root:
            return git, git
    return None


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Section, key and value of a file of settings, near enough: a comment behind a value is cut
    off, quotes are taken away."""
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        found = ENTRY.match(line.strip()[:LINE_CHARS])
        if found is None:
            continue
        section = (found["section"] or section).lower()
        if found["key"]:
            quoted, quote, rest = found["value"].rpartition('"')
            value = f"{quoted}{quote}{COMMENT.split(rest)[0]}".replace('"', "").strip()
            if value and "\0" not in value:
                yield section, found["key"].lower(), value


def _text_of(file: Path) -> str:
    """The start of a regular file, "" where there is none."""
    try:
        descriptor = os.open(os.path.realpath(file), READING)
    except (OSError, ValueError):  # ValueError: a NUL in a name that a setting gave
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        data = os.read(descriptor, CONFIG_BYTES) if regular else b""
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "surrogateescape")


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))
