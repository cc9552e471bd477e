"""Confinement: a session's side of the sandbox. Its temporary folder, its watch over paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import RLock
from typing import Any

from claw.log import log
from claw.tools.git_folders import MOST_FOLDERS
from claw.tools.process_groups import LiveGroups, groups_in
from claw.tools.sandbox.base import Inside, Sandbox, looks_refused
from claw.tools.sandbox.guarded_paths import GuardedPath
from claw.tools.sandbox.path_guard import PathGuard
from claw.tools.state import kept_in
from claw.tools.temp_folder import TempFolder
from claw.tools.workspace import Workspace

WHY_GUARDED = "these would run or be obeyed outside the sandbox"
TOO_MANY = (
    f"the workspace has more than {MOST_FOLDERS:,} folders now: repositories beyond them aren't "
    "guarded"
)


class Confinement:
    """Runs a session's commands in `sandbox`, one after the other.

    Around each: `before`, then the `command`, then `after`; the thread of a job that ends calls
    `job_ended` at any time, and any tool `look`. A state dict of the session holds it.
    """

    def __init__(self, sandbox: Sandbox, workspace: Workspace, groups: LiveGroups) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._groups = groups
        self._guard = PathGuard()
        self._guarded: tuple[GuardedPath, ...] = ()
        self._whole = True  # see GuardedPaths
        self._let_out = False  # a command that the user lets run outside is running
        self._untold: list[str] = []
        self._lock = RLock()
        self._unsettled = False  # a command has left something running, which may still do harm
        self._temp = TempFolder("commands", workspace.lend, workspace.take_back)
        workspace.watch(self.look)

    @property
    def in_front(self) -> str:
        """See Sandbox."""
        return self._sandbox.in_front

    def before(self) -> list[str]:
        """Notes what is at the guarded paths; lines on what was changed meanwhile by something
        that an earlier command has left running."""
        with self._lock:
            # Asked first: who still runs may change something after the look, before the next.
            still_running = self._unsettled and self._groups.any_left()
            self.look()
            lines, self._untold = self._untold, []
            self._unsettled = still_running
            self.remember(anew=not still_running)
            return lines

    def command(self, argv: Sequence[str], cwd: Path) -> list[str]:
        """The program that runs `argv` inside. OSError when there is no place for its files."""
        if not self._sandbox.in_force:
            return list(argv)
        temp = self._temp.path()
        # What the reading tools may read unasked, such as the whole of a long output.
        readable = tuple(folder for folder in self._workspace.lent if folder != temp)
        return self._sandbox.command(Inside(argv, cwd, temp, readable, self._guarded))

    def after(self, *, left_running: bool = False) -> list[str]:
        """Compares, and puts things right; lines for the result. left_running: the command has
        left something that still runs, whatever it calls itself."""
        with self._lock:
            self._unsettled = self._unsettled or left_running
            return self._settle()

    def look(self) -> None:
        """Puts right what was changed by something that still runs; the next `before` tells."""
        with self._lock:
            if self._unsettled:
                self._untold += self._settle()

    def job_ended(self) -> list[str]:
        """Compares, and puts things right; lines for whoever asks about the job."""
        with self._lock:
            return self._settle()

    def caution(self) -> str | None:
        """Why a command should be asked about, though the sandbox is full."""
        return None if self._whole else TOO_MANY

    def let_out(self, yes: bool) -> None:
        """Whether a command runs outside now, whose changes are right."""
        with self._lock:
            self._let_out = yes

    def hint(self, output: str) -> str | None:
        """A line below the output of a failed command that the sandbox may have held back."""
        if not self._sandbox.in_force or not looks_refused(output):
            return None
        allowance = self._sandbox.allowance(self._temp.made)
        way_out = ". outside_sandbox=true asks the user to run a command outside of it"
        return f"(it may be the sandbox: {allowance}{way_out if self._sandbox.may_leave else ''})"

    def close(self) -> None:
        """Ends what still runs, looks a last time, and removes the temporary folder."""
        self._workspace.unwatch(self.look)
        self._groups.close()
        self.look()
        for line in self._untold:
            log().warning("%s", line)
        self._temp.close()

    def remember(self, *, anew: bool = True) -> None:
        """Takes what is at the guarded paths now as right."""
        with self._lock:
            found = self._sandbox.guarded()
            # Where not all is looked at, a repository may be lost from sight among new folders.
            hidden = () if found.whole else set(self._guarded).difference(found.paths)
            known = (each for each in hidden if os.path.lexists(each.path))
            self._guarded, self._whole = (*found.paths, *known), found.whole
            compared = [each for each in self._guarded if not self._sandbox.holds(each)]
            self._guard.remember(compared, anew=anew)

    def _settle(self) -> list[str]:
        if self._let_out:
            return []
        lines = self._guard.settle()
        found = self._sandbox.guarded()  # now: a repository may be new
        known = set(self._guarded)
        lines += self._guard.settle_new(each for each in found.paths if each not in known)
        if lines:
            way_out = "; outside_sandbox=true asks the user" if self._sandbox.may_leave else ""
            lines.append(f"({WHY_GUARDED}{way_out})")
        if self._whole and not found.whole:
            self._whole = False
            lines.append(f"({TOO_MANY})")
        return lines


class Outside:
    """The same for a command that the user lets run outside: whatever it changes is right."""

    in_front = ""

    def __init__(self, confinement: Confinement) -> None:
        self._confinement = confinement

    def before(self) -> list[str]:
        lines = self._confinement.before()
        self._confinement.let_out(True)
        return lines

    def command(self, argv: Sequence[str], cwd: Path) -> list[str]:
        return list(argv)

    def after(self, *, left_running: bool = False) -> list[str]:
        self._confinement.remember()
        self._confinement.let_out(False)
        return []

    def job_ended(self) -> list[str]:
        return []

    def hint(self, output: str) -> str | None:
        return None


def confinement_in(state: dict[str, Any], sandbox: Sandbox, workspace: Workspace) -> Confinement:
    """The Confinement of a tool family's state, made when first asked for."""

    def make() -> Confinement:
        return Confinement(sandbox, workspace, groups_in(state))

    return kept_in(state, "confinement", Confinement, make)
