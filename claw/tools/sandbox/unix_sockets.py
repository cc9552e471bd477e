"""Socket files outside the sandbox, such as docker's or an ssh agent's.

Read-only mounts stop no `connect`: whoever listens on such a file can be asked to do things
outside. So each one that a program has bound in our network is covered by /dev/null.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

BOUND_SOCKETS = Path("/proc/net/unix")
PATH_COLUMN = 7


def bound_socket_files() -> list[Path]:
    """The socket files that programs have bound in this network namespace, where we see them."""
    try:
        lines = BOUND_SOCKETS.read_text("utf-8", "surrogateescape").splitlines()[1:]
    except OSError:
        return []
    columns = (line.split(maxsplit=PATH_COLUMN) for line in lines)
    names = {each[PATH_COLUMN] for each in columns if len(each) > PATH_COLUMN}
    # "@name" is an abstract one: it has no file, and is left behind with the network.
    files = {_real(Path(name)) for name in names if name.startswith("/")}
    return sorted(file for file in files if _is_socket(file))


def _real(name: Path) -> Path:
    """With no link on the way, such as /var/run: a mount doesn't go through one."""
    return Path(os.path.realpath(name.parent)) / name.name


def _is_socket(file: Path) -> bool:
    try:
        return stat.S_ISSOCK(file.lstat().st_mode)
    except OSError:
        return False
