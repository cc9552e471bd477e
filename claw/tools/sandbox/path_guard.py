"""PathGuard: compares the guarded paths around a command, and undoes what it did to them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from claw.tools.git_folders import pointed_at
from claw.tools.sandbox.entries import (
    MOST_ENTRIES,
    Entry,
    first_link,
    listing,
    look,
    move_aside,
    put_back,
    survey,
)
from claw.tools.sandbox.guarded_paths import GuardedPath
from claw.tools.words import one_line
from claw.values import frozen

# What `git init`, `git clone` and `git config user.name` write, and nothing that names a program.
PLAIN_GIT_CONFIG = re.compile(
    rb"(\[core\]\n|\[user\]\n|\[(remote|branch) \"[\w./-]+\"\]\n"
    rb"|\t(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode"
    rb"|symlinks) = (0|1|true|false)\n"
    rb"|\t(name|email|url|fetch|remote|merge) = [^\n]*\n)*"
)
# What `git worktree add` writes.
PLAIN_COMMONDIR = re.compile(rb"(.*/)?\.git/worktrees/[^/]+/commondir:\.\./\.\.\n")
SETTINGS_SUFFIXES = (".toml", ".json")


@frozen
class Baseline:
    """What was at a guarded path. barred: a part on the way there that was no folder even then."""

    entries: dict[str, Entry]
    barred: str | None


class PathGuard:
    """Knows what was at the guarded paths before a command. One thread at a time.

    A path that is new is moved aside: renamed beside itself, so that nothing is lost. One that
    changed is moved aside too, and the old one is put back.
    """

    def __init__(self) -> None:
        self._before: dict[GuardedPath, Baseline] = {}

    def remember(self, paths: Iterable[GuardedPath], *, anew: bool = True) -> None:
        """Takes what is at `paths` now as right: what changed since the last command is the
        user's doing. Not anew: what is known of the last paths stays, and they stay watched."""
        before = self._before
        self._before = {} if anew else dict(before)
        for each in paths:
            if each not in self._before:
                old = before.get(each)
                self._before[each] = _baseline(each, old.entries if old else {})

    def settle(self) -> list[str]:
        """Compares, and puts things right; a line for each thing that had changed."""
        return self._settle(self._before)

    def settle_new(self, paths: Iterable[GuardedPath]) -> list[str]:
        """The same for further paths, which are compared from now on, after the ones that are
        known. There was nothing before: the command has made them."""
        new = {each: Baseline({}, None) for each in paths if each not in self._before}
        self._before |= new
        return self._settle(new)

    def _settle(self, baselines: Mapping[GuardedPath, Baseline]) -> list[str]:
        lines: list[str] = []
        for each, before in baselines.items():
            told = list(_settle(each, before))
            if told:  # what was moved aside may lie in the same folder, and is right there
                self._before[each] = _baseline(each, before.entries)
            lines += told
        return lines


def _baseline(guarded: GuardedPath, known: dict[str, Entry]) -> Baseline:
    return Baseline(_survey(guarded, known), first_link(guarded.root, guarded.name))


def _survey(guarded: GuardedPath, known: dict[str, Entry]) -> dict[str, Entry]:
    root, name = guarded.root, guarded.name
    if not guarded.settings_only:
        return survey(root, name, known)
    files = [each for each in listing(root, name) if each.endswith(SETTINGS_SUFFIXES)]
    names = [name, *(f"{name}/{each}" for each in files)]
    found = ((each, look(root, each, known)) for each in names)
    return {each: entry for each, entry in found if entry is not None}


def _settle(guarded: GuardedPath, baseline: Baseline) -> Iterator[str]:
    root, before = guarded.root, baseline.entries
    link = first_link(root, guarded.name)
    if link and link != baseline.barred:  # the names below it would lead elsewhere
        yield _set_right(root, link, None)
    now = _survey(guarded, before)
    if len(now) >= MOST_ENTRIES > len(before):  # a flood, with who knows what behind it
        yield _set_right(root, guarded.name, before.get(guarded.name))
    for name in sorted(before.keys() | now.keys()):  # a folder comes before what is in it
        old, new = before.get(name), look(root, name, before)  # it may have moved with its folder
        if old is not None and new is not None and new.is_like(old):
            continue
        if new is not None and (old is not None or not _harmless(guarded, name, new, now)):
            yield _set_right(root, name, old)
        elif new is None and old is not None and _put_back(root, name, old):
            yield f"{one_line(name)} was removed by the command and has been put back"


def _set_right(root: Path, name: str, old: Entry | None) -> str:
    """Moves aside what a command has put at a name, puts the old back, and says so."""
    did = f"{one_line(name)} was {'made' if old is None else 'changed'} by the command"
    try:
        aside = one_line(move_aside(root, name))
    except OSError as error:
        return f"{did} and can't be moved aside: {error.strerror}"
    if old is None:
        return f"{did} and has been moved aside, to {aside}"
    back = "the old one is back" if _put_back(root, name, old) else "the old one can't be put back"
    return f"{did}: {back}, the new one is {aside}"


def _put_back(root: Path, name: str, entry: Entry) -> bool:
    try:
        return put_back(root, name, entry)
    except OSError:  # such as when its folder is gone too, which is for the user to judge
        return False


def _harmless(guarded: GuardedPath, name: str, entry: Entry, now: dict[str, Entry]) -> bool:
    """Whether something new may stay: what `git init` makes, and folders with nothing else."""
    if entry.kind == "folder":
        inside = {each: now[each] for each in now if each.startswith(f"{name}/")}
        return guarded.settings_only or all(
            _harmless(guarded, each, found, {})
            for each, found in inside.items()
            if found.kind != "folder"
        )
    if entry.kind != "file" or entry.content is None:
        return False
    if name.endswith("/config"):
        return PLAIN_GIT_CONFIG.fullmatch(entry.content) is not None
    if name.endswith("/commondir"):
        return PLAIN_COMMONDIR.fullmatch(f"{name}:".encode() + entry.content) is not None
    if name.endswith("/.git"):
        return _is_plain_pointer(guarded.root, name)
    return "/hooks/" in name and name.endswith(".sample")  # git runs no hook of that name


def _is_plain_pointer(root: Path, name: str) -> bool:
    """Whether a file named .git leads to where `git worktree add` puts it, or a submodule,
    whose parts are guarded themselves; and by no link."""
    git = pointed_at(root / name)
    return (
        git is not None
        and git.is_relative_to(root)
        and any(each.name in ("worktrees", "modules") for each in git.parents)
        and ".git" in git.relative_to(root).parts
        and Path(os.path.realpath(git)) == git
    )
