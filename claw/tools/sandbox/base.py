"""Sandbox: how a command is kept inside, and what that doesn't stop. Bounds: what inside means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from claw.tools.git_folders import MOST_FOLDERS, git_folder_elsewhere
from claw.tools.programs import folders_of_path
from claw.tools.sandbox.guarded_paths import GuardedPath, GuardedPaths, guarded_in
from claw.values import frozen

TEMP = Path("/tmp")
GIT_WRITES = ("objects", "refs", "logs")
TOO_MANY_FOLDERS = (
    f"; the folder has more than {MOST_FOLDERS:,} folders: repositories beyond them aren't guarded"
)
# What programs say when the system refuses them something; only a guess at the sandbox.
REFUSALS = (
    "Read-only file system",
    "Permission denied",
    "Operation not permitted",
    "Device or resource busy",
    "Network is unreachable",
    "Connection refused",
    "Failed to connect",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "EROFS",
    "EACCES",
    "EPERM",
    "EAI_AGAIN",
    "ENETUNREACH",
    "ECONNREFUSED",
)


@frozen
class Bounds:
    """What confined commands may do, in real paths.

    roots: the folders they may write in, the workspace first. net: they may use the network.
    own_folders: where claw keeps its settings and state. path: the folders programs are looked for
    in. runtime_dir: where the user's services have their sockets. may_leave: the user may be asked
    to let a command out. git_folder: of a worktree or a submodule, where its own git folder is;
    git_shared: of a worktree, the folder that it shares with others.
    """

    roots: tuple[Path, ...]
    net: bool = False
    own_folders: tuple[Path, ...] = ()
    path: tuple[Path, ...] = ()
    runtime_dir: Path | None = None
    may_leave: bool = True
    git_folder: Path | None = None
    git_shared: Path | None = None

    @classmethod
    def of(
        cls,
        workspace: Path,
        add_dirs: Iterable[Path],
        own_folders: Iterable[Path],
        environ: Mapping[str, str],
        *,
        net: bool,
        may_leave: bool = True,
    ) -> Bounds:
        runtime_dir = environ.get("XDG_RUNTIME_DIR")
        roots = tuple(each.resolve() for each in (workspace, *add_dirs))
        git, shared = git_folder_elsewhere(roots[0]) or (None, None)
        return cls(
            roots=roots,
            net=net,
            own_folders=tuple(each.resolve() for each in own_folders),
            path=folders_of_path(environ),
            runtime_dir=Path(runtime_dir).resolve() if runtime_dir else None,
            may_leave=may_leave,
            git_folder=git,
            git_shared=shared if shared != git else None,
        )

    @property
    def writable(self) -> tuple[Path, ...]:
        """The roots, and what git needs to write of a git folder that lies elsewhere: without the
        settings and the hooks that it shares."""
        shared = (self.git_shared / name for name in GIT_WRITES) if self.git_shared else ()
        own = (self.git_folder,) if self.git_folder else ()
        elsewhere = (each for each in (*shared, *own) if each.is_dir() and not self.hold(each))
        return (*elsewhere, *self.roots)

    def hold(self, path: Path) -> bool:
        """Whether it lies in a root."""
        return any(path.is_relative_to(root) for root in self.roots)

    def guarded(self) -> GuardedPaths:
        """See Sandbox."""
        own = (self.git_folder,) if self.git_folder else ()
        return guarded_in(self.roots, self.own_folders, own)


@frozen
class Inside:
    """A command that is to run inside, and what it gets there.

    temp: the commands' own folder for temporary files, TMPDIR inside. readable: folders among the
    temporary files of others that it shall see. guarded: what `Sandbox.guarded()` gave a moment
    ago, which may take some milliseconds to find out; None to ask it now.
    """

    argv: Sequence[str]
    cwd: Path
    temp: Path | None = None
    readable: tuple[Path, ...] = ()
    guarded: Sequence[GuardedPath] | None = None


@frozen
class Refusal:
    """Why a sandbox can't be had, in words."""

    words: str


class Sandbox(ABC):
    """One way to run commands.

    name: "bubblewrap", "landlock" or "none". full: no network and no writes but inside, so that
    commands may run unasked where edits may. in_front: how the command line begins of a program
    that stays in front of each command and is no part of what a command leaves running; "" for
    none. It is good for words alone: a command may call itself like that. may_leave: the user may
    be asked to let a command run outside.

    Contract: immutable, and any thread may ask it, several at once. `command` raises OSError when
    the command can't be set up; nothing else raises, and what can't be looked at counts as absent.
    `command` and `guarded` read the disk each time, some milliseconds long; the others are quick.
    """

    name: str
    full: bool = False
    in_front: str = ""
    may_leave: bool = True

    @property
    def in_force(self) -> bool:
        """Whether the kernel holds commands back at all."""
        return self.name != "none"

    @abstractmethod
    def command(self, inside: Inside) -> list[str]:
        """The program that runs `inside.argv`; it keeps environment, pipes and exit code."""

    @abstractmethod
    def about(self) -> str:
        """One line for people: which it is, what it stops and what not."""

    @abstractmethod
    def allowance(self, temp: Path | None) -> str:
        """What commands may do, for the model. temp: as `Inside` has it."""

    def guarded(self) -> GuardedPaths:
        """What commands leave as it is, inside too; as things are now."""
        return GuardedPaths()

    def holds(self, path: GuardedPath) -> bool:
        """Whether the kernel sees to it; what it doesn't hold is compared after a command."""
        return False


class NoSandbox(Sandbox):
    """Commands run as they are; `why` says so for people."""

    name = "none"

    def __init__(self, why: str = "sandbox off: commands run with all your rights") -> None:
        self._why = why

    def command(self, inside: Inside) -> list[str]:
        return list(inside.argv)

    def about(self) -> str:
        return self._why

    def allowance(self, temp: Path | None) -> str:
        return "commands may do all that the user may"


def allowance_of(bounds: Bounds, temp: Path | None) -> str:
    """The words for the bounds of a sandbox in force."""
    own = "$TMPDIR" if temp is None else f"$TMPDIR ({temp})"
    places = ", ".join(map(str, reversed(bounds.writable)))
    net = "may use the network" if bounds.net else "have no network"
    return f"commands write only in {places} and {own}, and {net}"


def looks_refused(output: str) -> bool:
    """Whether the output of a failed command reads as if the system had refused something."""
    return any(words in output for words in REFUSALS)
