"""Landlock: rights that a process gives up for itself, by the program of landlock_program.py."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from claw.tools.programs import trusted_python
from claw.tools.sandbox.base import (
    TOO_MANY_FOLDERS,
    Bounds,
    Inside,
    Refusal,
    Sandbox,
    allowance_of,
)
from claw.tools.sandbox.guarded_paths import GuardedPaths
from claw.tools.sandbox.probe import try_out
from claw.values import frozen

ABI_WITH_TRUNCATE = 3
ABI_WITH_TCP = 4
ABI_WITH_SCOPES = 6
PROGRAM = Path(__file__).with_name("landlock_program.py")
NOWHERE = "/dev/null"  # in place of a temporary folder where there is none


@frozen
class Start:
    """How the program in front is started; `program` is its text, as it was before any command."""

    python: Path
    program: str
    bounds: Bounds

    def command(self, argv: Sequence[str], temp: Path | None) -> list[str]:
        net = "net" if self.bounds.net else "no-net"
        words = [net, str(temp or NOWHERE), *map(str, self.bounds.writable), "--", *argv]
        return [str(self.python), "-I", "-S", "-c", self.program, *words]


class Landlock(Sandbox):
    """Commands started by the program of landlock_program.py. It is never `full`: it doesn't stop
    changes of modes, owners and times outside; and what a command leaves running is found only as
    long as it keeps its environment.

    abi: the version of the kernel's Landlock. sockets_closed: seccomp refuses them, UDP included.
    instead: why bubblewrap is not used. whole: see GuardedPaths, as it was at first.
    """

    name = "landlock"

    def __init__(
        self,
        start: Start,
        abi: int,
        *,
        sockets_closed: bool,
        instead: str = "",
        whole: bool = True,
    ) -> None:
        self._start = start
        self._bounds = start.bounds
        self._abi = abi
        self._sockets_closed = sockets_closed
        self._instead = instead
        self._whole = whole
        self.may_leave = start.bounds.may_leave

    def command(self, inside: Inside) -> list[str]:
        return self._start.command(inside.argv, inside.temp)

    def about(self) -> str:
        net = "with the network" if self._bounds.net else "without network"
        why = f" ({self._instead})" if self._instead else ""
        return (
            f"sandbox: Landlock{why}; commands write only in the workspace, added folders and a "
            f"temporary folder of their own, {net}; it doesn't stop {self._gaps()}, and they can "
            f"read all that you can{'' if self._whole else TOO_MANY_FOLDERS}"
        )

    def guarded(self) -> GuardedPaths:
        return self._bounds.guarded()

    # `holds` none of them: Landlock's rules only add rights, so nothing can be taken out of a root.

    def allowance(self, temp: Path | None) -> str:
        no_loopback = "; connections to this machine itself are refused too"
        no_terminals = "; there are no pseudo-terminals and no shared memory in /dev/shm"
        net = "" if self._bounds.net else no_loopback
        return f"{allowance_of(self._bounds, temp)}{net}{no_terminals}"

    def _gaps(self) -> str:
        """What an attacker inside could still do."""
        gaps = [
            "changes of mode, owner and time on files outside",
            "processes that drop their environment and outlive the session",
        ]
        if not self._sockets_closed:
            gaps.append("sockets of other programs")
        if not self._sockets_closed and not self._bounds.net:
            gaps.append("UDP" if self._abi >= ABI_WITH_TCP else "the network")
        if self._abi < ABI_WITH_SCOPES:
            gaps.append("signals to your other programs")
        if self._abi < ABI_WITH_TRUNCATE:
            gaps.append("emptying files outside")
        return ", ".join(gaps)


def find_landlock(
    bounds: Bounds, environ: Mapping[str, str], instead: str = ""
) -> Landlock | Refusal:
    """The sandbox, tried once, or why it can't be had."""
    if sys.platform != "linux":
        return Refusal("Landlock is Linux's alone")
    python = trusted_python(bounds.path, bounds.roots)
    if python is None:
        return Refusal("Landlock needs a Python outside the folders that commands may write in")
    start = Start(python, PROGRAM.read_text(), bounds)
    trial = try_out(start.command((), None), environ)
    if trial.refusal is not None:
        return Refusal(trial.refusal)
    abi, _, sockets = trial.said.partition(" ")
    return Landlock(
        start,
        int(abi),
        sockets_closed=sockets == "closed",
        instead=instead,
        whole=bounds.guarded().whole,
    )
