"""Confinement: a session's side of the sandbox. Its temporary folder, its watch over paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claw.log import log
from claw.tools.process_groups import LiveGroups, groups_in
from claw.tools.sandbox.base import Inside, Sandbox, looks_refused
from claw.tools.sandbox.guarded_paths import GuardedPath
from claw.tools.sandbox.path_guard import PathGuard
from claw.tools.state import kept_in
from claw.tools.temp_folder import TempFolder
from claw.tools.workspace import Workspace

WHY_GUARDED = (
    "(these would run or be obeyed outside the sandbox; outside_sandbox=true asks the user)"
)


class Confinement:
    """Runs a session's commands in `sandbox`, one after the other.

    Around each: `before`, then the `command`, then `after`. A state dict of the session holds it.
    """

    def __init__(self, sandbox: Sandbox, workspace: Workspace, groups: LiveGroups) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._groups = groups
        self._guard = PathGuard()
        self._guarded: list[GuardedPath] = []
        self._unsettled = False  # a command has left something running, which may still do harm
        self._temp = TempFolder("commands", workspace.lend, workspace.take_back)

    @property
    def in_front(self) -> str:
        """See Sandbox."""
        return self._sandbox.in_front

    def before(self) -> list[str]:
        """Notes what is at the guarded paths; lines on what was changed meanwhile by something
        that an earlier command has left running."""
        # Asked first: who still runs may change something after the look, and before the next.
        still_running = self._unsettled and self._groups.any_left()
        lines = self._settle() if self._unsettled else []
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
        self._unsettled = self._unsettled or left_running
        return self._settle()

    def hint(self, output: str) -> str | None:
        """A line below the output of a failed command that the sandbox may have held back."""
        if not self._sandbox.in_force or not looks_refused(output):
            return None
        allowance = self._sandbox.allowance(self._temp.made)
        return (
            f"(it may be the sandbox: {allowance}. outside_sandbox=true asks the user to run a "
            "command outside of it)"
        )

    def close(self) -> None:
        """Ends what still runs, looks a last time, and removes the temporary folder."""
        self._groups.close()
        for line in self._settle() if self._unsettled else ():
            log().warning("%s", line)
        self._temp.close()

    def remember(self, *, anew: bool = True) -> None:
        """Takes what is at the guarded paths now as right."""
        self._guarded = self._sandbox.guarded()
        compared = [each for each in self._guarded if not self._sandbox.holds(each)]
        self._guard.remember(compared, anew=anew)

    def _settle(self) -> list[str]:
        lines = self._guard.settle()
        return [*lines, WHY_GUARDED] if lines else []


class Outside:
    """The same for a command that the user lets run outside: whatever it changes is right."""

    in_front = ""

    def __init__(self, confinement: Confinement) -> None:
        self._confinement = confinement

    def before(self) -> list[str]:
        return self._confinement.before()

    def command(self, argv: Sequence[str], cwd: Path) -> list[str]:
        return list(argv)

    def after(self, *, left_running: bool = False) -> list[str]:
        self._confinement.remember()
        return []

    def hint(self, output: str) -> str | None:
        return None


def confinement_in(state: dict[str, Any], sandbox: Sandbox, workspace: Workspace) -> Confinement:
    """The Confinement of a tool family's state, made when first asked for."""

    def make() -> Confinement:
        return Confinement(sandbox, workspace, groups_in(state))

    return kept_in(state, "confinement", Confinement, make)
