"""Paths that nobody writes unasked: what stands in them runs by itself at somebody's next step.

The one list of them. The file tools ask about these in every mode; a sandbox guards those that
lie under its workspace. Names are compared with case folded and without the characters that some
file systems overlook, since `.GIT/hooks` is `.git/hooks` on a Mac (CVE-2014-9390, CVE-2025-59944).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from claw.tools.git_folders import (
    GIT_PARTS,
    git_folder_of,
    git_folders_in,
    looks_like_git,
    named_by_config,
)
from claw.values import frozen

SHELL = "a shell runs it when it starts"
GIT = "git's own: what stands there can run at the next git command"
LOG_IN = "it decides what runs at a log-in"
OTHER_AGENTS = "it names programs that other agents start"
EDITOR = "an editor runs what it names when it opens the folder"
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
            ".bashrc.d",
            ".oh-my-zsh",
        )
    },
    (".local", "bin"): "it is where shells look for programs",
    (".config", "fish"): SHELL,
    ("/", "etc", "profile"): SHELL,
    ("/", "etc", "profile.d"): SHELL,
    ("/", "etc", "bash.bashrc"): SHELL,
    ("/", "etc", "zsh"): SHELL,
    ("/", "etc", "fish"): SHELL,
    (".ssh",): LOG_IN,
    (".config", "autostart"): LOG_IN,
    (".config", "systemd"): LOG_IN,
    (".config", "environment.d"): LOG_IN,
    (".pam_environment",): LOG_IN,
    (".xprofile",): LOG_IN,
    (".xinitrc",): LOG_IN,
    ("Library", "LaunchAgents"): LOG_IN,
    (".envrc",): "direnv runs it when a shell comes here",
    (".husky",): "git runs it as hooks",
    (".mcp.json",): OTHER_AGENTS,
    (".cursor", "mcp.json"): OTHER_AGENTS,  # CVE-2025-54135
    (".claude", "settings.json"): OTHER_AGENTS,
    (".claude", "settings.local.json"): OTHER_AGENTS,
    (".vscode", "tasks.json"): EDITOR,
    (".vscode", "settings.json"): EDITOR,  # and what its agent may do: CVE-2025-53773
}
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


def git_reason(path: Path, root: Path) -> str | None:
    """The reason for what git would run, or obey, in a repository at or below `root`, whatever its
    name: what a link or a setting there leads to, and what makes a folder a repository. Both paths
    are real ones."""
    for link in (root / ".git", root / ".git/hooks", root / ".git/config"):
        target = Path(os.path.realpath(link))
        if target != link and path.is_relative_to(target):
            return f"{path} is protected: {link} leads there, and it is {GIT}"
    inside = [folder for folder in path.parents if folder.is_relative_to(root)]
    for folder in dict.fromkeys([*inside, root]):
        for named in named_by_config(git_folder_of(folder), folder):
            if path.is_relative_to(Path(os.path.realpath(named))):
                return f"{path} is protected: {folder}/.git names it, so it is {GIT}"
    if _is_head(path) or any(_is_git_part(path, folder) for folder in inside):
        return f"{path} is protected: with it {path.parent} may be a repository, so it is {GIT}"
    return None


@frozen
class Guarded:
    """paths: what a command must leave as it is, sorted; most of them don't exist. whole: every
    folder was looked at for repositories."""

    paths: tuple[Path, ...]
    whole: bool


def guarded_paths(root: Path) -> Guarded:
    """What a command that may write under `root` must not create or change there.

    root: absolute, no links in it. Git goes on working: of its folders only GIT_PARTS are meant,
    and what its settings name. It reads the disk: some milliseconds, 100 in a very large folder.
    """
    git = git_folders_in(root)
    found = {root.joinpath(*names) for names in PROTECTED if names != (".git",)}
    found |= {*git.pointers, root / "HEAD"}
    missing = () if root / ".git" in git.pointers else (root / ".git",)
    for folder in {*git.folders, *missing}:
        found.update(folder / part for part in GIT_PARTS)
        found.update(named_by_config(folder))
    for pointer in git.pointers:
        found.update(named_by_config(git_folder_of(pointer.parent), pointer.parent))
    inside = (path for path in found if path.is_relative_to(root) and path != root)
    return Guarded(tuple(sorted(inside)), git.whole)


def _is_head(path: Path) -> bool:
    # A file system that overlooks case may be met anywhere but on Linux.
    exact = path.name == "HEAD"
    return exact or (sys.platform != "linux" and _folded_names([path.name]) == ("head",))


def _is_git_part(path: Path, folder: Path) -> bool:
    """Whether it is a hook or a setting of `folder`, if that is a repository or nearly one."""
    if path.relative_to(folder).parts[0] not in GIT_PARTS:
        return False
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return "HEAD" in names or looks_like_git(names)


def _folded(path: Path) -> tuple[str, ...]:
    return _folded_names(path.parts)


def _folded_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.translate(OVERLOOKED).casefold() for name in names)
