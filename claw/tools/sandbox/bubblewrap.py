"""Bubblewrap: a mount, process and (without the network) network namespace for each command.

The whole file system is read-only but for the roots and a folder of the commands' own in place of
/tmp. Process numbers are new, so that nobody outside can be looked at (claw's environment holds
the key) or signalled. Guarded paths that exist are mounted read-only, and each folder above them
is mounted on itself: a folder that is a mount point can't be renamed or removed, so nobody can put
another `.git` in its place.

No --die-with-parent: it means the thread that forked, and the engine's threads end with their
call; it would also end what a command left running. No --new-session: `run_process` has made one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from claw.tools.programs import trusted_program
from claw.tools.sandbox.base import (
    TEMP,
    TOO_MANY_FOLDERS,
    Bounds,
    Inside,
    Refusal,
    Sandbox,
    allowance_of,
)
from claw.tools.sandbox.guarded_paths import GuardedPath, GuardedPaths
from claw.tools.sandbox.probe import try_out
from claw.tools.sandbox.unix_sockets import bound_socket_files

WHOLE_SYSTEM = ("--ro-bind", "/", "/")
RUN = Path("/run")
KEPT_IN_RUN = ("/run/current-system", "/run/opengl-driver")  # the programs of NixOS
PROBE = ("/bin/sh", "-c", ":")
NAMESERVERS = Path("/etc/resolv.conf")
# A command of root's may handle files of any owner, as without a sandbox, and become somebody else;
# nothing that mounts, makes devices or touches the system. Nobody but root has them to keep.
KEPT_CAPABILITIES = ("DAC_OVERRIDE", "CHOWN", "FOWNER", "FSETID", "SETUID", "SETGID", "KILL")
NOT_INSTALLED = "bubblewrap (bwrap) is not installed"
WHERE_COMMANDS_WRITE = "bubblewrap (bwrap) lies in a folder that commands may write in"
# Why namespaces are refused, where the system says so.
REFUSING_SETTINGS = (
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor restricts it"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone is 0"),
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces is 0"),
)


class Bubblewrap(Sandbox):
    """Commands run under the `bwrap` at `program`. whole: see GuardedPaths, as it was at first."""

    name = "bubblewrap"

    def __init__(self, program: Path, bounds: Bounds, *, whole: bool = True) -> None:
        self._program = program
        self._bounds = bounds
        self._whole = whole
        self.full = whole and not bounds.net
        self.may_leave = bounds.may_leave
        # It stays as the first process of the command's own, as long as any of them runs.
        self.in_front = " ".join((str(program), *WHOLE_SYSTEM))

    def command(self, inside: Inside) -> list[str]:
        words = [str(self._program), *WHOLE_SYSTEM, *self._system(), *self._temp(inside.temp)]
        for folder in (*self._tools_in_temp(), *inside.readable):
            words += ["--ro-bind-try", str(folder), str(folder)]
        if self._bounds.git_shared:  # it may lie in /tmp
            words += ["--ro-bind", str(self._bounds.git_shared), str(self._bounds.git_shared)]
        for folder in self._bounds.writable:
            words += ["--bind", str(folder), str(folder)]
        guarded = self.guarded().paths if inside.guarded is None else inside.guarded
        words += [*_read_only(list(filter(self.holds, guarded))), *self._masks()]
        words += ["--unshare-pid", "--unshare-ipc"]
        words += [] if self._bounds.net else ["--unshare-net"]
        words += ["--cap-drop", "ALL"]
        for name in KEPT_CAPABILITIES if os.geteuid() == 0 else ():
            words += ["--cap-add", f"CAP_{name}"]
        return [*words, "--chdir", str(inside.cwd), "--", *inside.argv]

    def about(self) -> str:
        net = "with the network" if self._bounds.net else "without network"
        return (
            "sandbox: bubblewrap; commands write only in the workspace, added folders and a "
            f"temporary folder of their own, {net}; they can read all that you can"
            f"{'' if self._whole else TOO_MANY_FOLDERS}"
        )

    def guarded(self) -> GuardedPaths:
        return self._bounds.guarded()

    def holds(self, path: GuardedPath) -> bool:
        return path.can_be_mounted

    def allowance(self, temp: Path | None) -> str:
        own_network = "" if self._bounds.net else ", and has a loopback network of its own"
        return (
            f"{allowance_of(self._bounds, temp)}; /tmp is the same as $TMPDIR; each command sees "
            f"its own processes alone{own_network}"
        )

    def _system(self) -> Iterator[str]:
        yield from ("--dev", "/dev", "--proc", "/proc")
        if os.geteuid() == 0:  # the kernel's settings in /proc/sys are root's, whatever it has lost
            yield from ("--remount-ro", "/proc")
        # Sockets of the system's services, and of the user's.
        yield from ("--tmpfs", str(RUN))
        runtime_dir = self._bounds.runtime_dir
        if runtime_dir and runtime_dir.is_dir() and not runtime_dir.is_relative_to(RUN):
            yield from ("--tmpfs", str(runtime_dir))
        kept = [Path(name) for name in KEPT_IN_RUN]
        nameservers = NAMESERVERS.resolve()
        if self._bounds.net and nameservers.is_relative_to(RUN):
            kept.append(nameservers)
        for path in kept:
            yield from ("--ro-bind-try", str(path), str(path))

    def _temp(self, temp: Path | None) -> Iterator[str]:
        """In place of /tmp, and under its real name too, so that the names which programs tell
        mean the same outside."""
        if temp is None:
            yield from ("--tmpfs", str(TEMP))
            return
        if not self._bounds.hold(TEMP):
            yield from ("--bind", str(temp), str(TEMP))
        yield from ("--bind", str(temp), str(temp), "--setenv", "TMPDIR", str(temp))

    def _tools_in_temp(self) -> Iterator[Path]:
        """Folders of PATH that would be covered; of a `bin`, the installation around it."""
        for folder in self._bounds.path:
            if folder.is_relative_to(TEMP) and folder != TEMP:
                around = folder.parent
                yield around if folder.name in ("bin", "sbin") and around != TEMP else folder

    def _masks(self) -> Iterator[str]:
        for file in bound_socket_files():
            hidden = file.is_relative_to(RUN) or file.is_relative_to(TEMP)
            reachable = self._bounds.hold(file) or not hidden
            # With the network shared, the commands' own sockets are among them.
            if reachable and not (self._bounds.net and self._bounds.hold(file)):
                yield from ("--ro-bind", "/dev/null", str(file))


def find_bubblewrap(bounds: Bounds, environ: Mapping[str, str]) -> Bubblewrap | Refusal:
    """The sandbox, tried once, or why it can't be had."""
    program = trusted_program("bwrap", bounds.path, bounds.roots)
    if program is None:
        planted = trusted_program("bwrap", bounds.path, ()) is not None
        return Refusal(WHERE_COMMANDS_WRITE if planted else NOT_INSTALLED)
    guarded = bounds.guarded()
    sandbox = Bubblewrap(program, bounds, whole=guarded.whole)
    inside = Inside(PROBE, bounds.roots[0], guarded=guarded.paths)
    refusal = try_out(sandbox.command(inside), environ).refusal
    return sandbox if refusal is None else Refusal(f"{refusal}{_setting_that_refuses()}")


def _read_only(held: Sequence[GuardedPath]) -> Iterator[str]:
    """Mounts for `held`, after those of the folders above them on themselves, outer ones first."""
    for folder in sorted({folder for each in held for folder in _folders_above(each)}):
        yield from ("--bind", str(folder), str(folder))
    for each in held:
        yield from ("--ro-bind", str(each.path), str(each.path))


def _folders_above(guarded: GuardedPath) -> Iterator[Path]:
    """Those that nobody may put another one in place of; of a repository, from its `.git` on."""
    parts = Path(guarded.name).parts
    first = parts.index(".git") if ".git" in parts else 0
    for length in range(first + 1, len(parts)):
        yield guarded.root.joinpath(*parts[:length])


def _setting_that_refuses() -> str:
    for name, value, words in REFUSING_SETTINGS:
        try:
            if Path(name).read_text().strip() == value:
                return f" ({words})"
        except OSError:
            continue
    return ""
