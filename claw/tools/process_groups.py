"""LiveGroups: the process groups a session has running, and how all of them are ended."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, Any

from claw.tools import sweep
from claw.tools.state import kept_in

if TYPE_CHECKING:
    import subprocess

END_GRACE_S = 0.5


class LiveGroups:
    """The process groups a session has running, and the mark that all its children carry.

    Every method is for any thread. A state dict of the session holds it (see `groups_in`).
    """

    def __init__(self) -> None:
        self._mark = f"CLAW_{os.urandom(8).hex()}_"
        self._numbers = count(1)
        self._leaders: set[int] = set()
        self._lock = RLock()  # a third Ctrl-C may run kill_all inside any of these sections

    def new_mark(self) -> str:
        """The name of a variable for one child's environment."""
        return f"{self._mark}{next(self._numbers)}_"

    def add(self, leader: int) -> None:
        with self._lock:
            self._leaders.add(leader)

    def signal(self, leader: int, number: signal.Signals) -> None:
        """To the whole group, as long as its leader hasn't been reaped."""
        with self._lock:
            if leader in self._leaders:
                with suppress(ProcessLookupError, PermissionError):  # macOS says EPERM of zombies
                    os.killpg(leader, number)

    def reap(self, child: subprocess.Popen[bytes]) -> int | None:
        """Lets go of the group and its number; the exit status, None if the leader lives on."""
        with self._lock:
            self._leaders.discard(child.pid)
            return child.poll()

    def any_left(self) -> bool:
        """Whether something that a command has started still runs, as far as it can be found."""
        return bool(self._leaders) or bool(sweep.find(self._mark))

    def kill_all(self) -> None:
        """KILL at once to every group that runs or is in its grace: for a way out in a hurry."""
        for leader in list(self._leaders):
            self.signal(leader, signal.SIGKILL)

    def close(self) -> None:
        """Ends what still runs: groups at once, what normal commands left after a short grace."""
        self.kill_all()
        sweep.end(self._mark, grace_s=END_GRACE_S)


def groups_in(state: dict[str, Any]) -> LiveGroups:
    """The LiveGroups of a tool family's state, made when first asked for."""
    return kept_in(state, "groups", LiveGroups, LiveGroups)
