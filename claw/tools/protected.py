"""Paths that nobody writes unasked: what stands in them runs by itself at somebody's next step.

The one list of them. The file tools ask about these in every mode; a sandbox guards those that
lie under its workspace. Names are compared with case folded and without the characters that some
file systems overlook, since `.GIT/hooks` is `.git/hooks` on a Mac (CVE-2014-9390, CVE-2025-59944).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from claw.tools.globs import JUNK

SHELL = "a shell runs it when it starts"
GIT = "git's own: what stands there can run at the next git command"
LOG_IN = "it decides what runs at a log-in"
# A run of parts, anywhere in a path (from the top if it begins with /), and all that is below it.
PROTECTED: dict[tuple[str, ...], str] = {
    (".git",): GIT,
    (".gitconfig",): GIT,
    (".config", "git"): GIT,
    (".claw",): "claw's own: it decides what claw may do",
    **{
        (name,): SHELL
        for name in (
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".inputrc",
        )
    },
    (".config", "fish"): SHELL,
    ("/", "etc", "profile"): SHELL,
    ("/", "etc", "profile.d"): SHELL,
    ("/", "etc", "bash.bashrc"): SHELL,
    ("/", "etc", "zsh"): SHELL,
    ("/", "etc", "fish"): SHELL,
    (".ssh",): LOG_IN,
    (".config", "autostart"): LOG_IN,
    (".config", "systemd"): LOG_IN,
    ("Library", "LaunchAgents"): LOG_IN,
    (".envrc",): "direnv runs it when a shell comes here",
    (".mcp.json",): "it names programs that other agents start",
    (".vscode", "tasks.json"): "an editor runs it when it opens the folder",
}
# Inside a git folder: what can start a program, or lead git to another folder that does.
GIT_PARTS = ("hooks", "config", "config.worktree", "commondir")
MOST_FOLDERS = 200
# They count for nothing in a name on HFS+.
OVERLOOKED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def protected_reason(path: Path, own: Sequence[Path] = ()) -> str | None:
    """Why writing `path` is asked about in every mode; None where it is an ordinary path.

    path: absolute. It is judged by its text alone, so a caller that was given a link asks for both
    the link and what it leads to. own: claw's own folders, such as the one of its settings.
    """
    parts = _folded(path)
    for folder in own:
        start = _folded(folder)
        if parts[: len(start)] == start:
            return f"{path} is claw's own: it decides what claw may do"
    for names, reason in PROTECTED.items():
        run = _folded_names(names)
        if any(parts[at : at + len(run)] == run for at in range(len(parts))):
            return f"{path} is protected: {reason}"
    return None


def led_to_by_git(path: Path, root: Path) -> str | None:
    """The reason for what a link in the repository of `root` leads to, such as a hooks folder that
    is kept among the files. Both paths are real ones."""
    for link in (root / ".git", root / ".git/hooks", root / ".git/config"):
        target = Path(os.path.realpath(link))
        if target != link and path.is_relative_to(target):
            return f"{path} is protected: {link} leads there, and it is {GIT}"
    return None


def guarded_paths(root: Path) -> tuple[Path, ...]:
    """What a command that may write under `root` must not create or change there, sorted.

    root: absolute, no links in it. Most of the paths don't exist. Git goes on working: of its
    folders only GIT_PARTS are meant. Repositories below the root are found in its first
    MOST_FOLDERS folders. It reads the disk, some milliseconds long.
    """
    found = {root.joinpath(*names) for names in PROTECTED if names != (".git",)}
    for git in (root / ".git", *_repositories_below(root)):
        found.update(_guarded_in_git(git))
    return tuple(sorted(path for path in found if path.is_relative_to(root) and path != root))


def _folded(path: Path) -> tuple[str, ...]:
    return _folded_names(path.parts)


def _folded_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.translate(OVERLOOKED).casefold() for name in names)


def _guarded_in_git(git: Path) -> Iterator[Path]:
    """Of one `.git`, and of the submodules and worktrees that it holds."""
    if git.is_symlink() or git.is_file():  # it points at the real folder: a worktree, a submodule
        yield git
        return
    yield from (git / part for part in GIT_PARTS)
    for holder in ("modules", "worktrees"):
        for name in _names_in(git / holder):
            yield from (git / holder / name / part for part in GIT_PARTS)


def _repositories_below(root: Path) -> Iterator[Path]:
    """The `.git` of folders below the root, the nearest first."""
    waiting = deque([root])
    for _ in range(MOST_FOLDERS):
        if not waiting:
            return
        folder = waiting.popleft()
        try:
            with os.scandir(folder) as entries:
                names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
        except OSError:
            continue
        if folder != root and os.path.lexists(folder / ".git"):
            yield folder / ".git"
        waiting.extend(folder / name for name in names if name not in JUNK)


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
