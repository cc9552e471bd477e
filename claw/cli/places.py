"""Where claw keeps its files: config.toml, and the state (trust, prompt history)."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path

from claw.errors import ConfigError
from claw.values import frozen


@frozen
class Places:
    """Two folders: the user's settings, and what claw remembers. Naming them creates nothing."""

    config: Path
    state: Path

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def trust_file(self) -> Path:
        return self.state / "trust.json"

    @property
    def history_file(self) -> Path:
        return self.state / "prompt_history"

    @property
    def sessions(self) -> Path:
        return self.state / "sessions"

    def make_state(self) -> Path:
        """The state folder, made if it isn't there, for the user's eyes only."""
        return private_folder(self.state)


def find_places(environ: Mapping[str, str]) -> Places:
    """CLAW_HOME for both where it is set, else what the platform has for such files."""
    home = environ.get("CLAW_HOME")
    if home:
        folder = user_path(home, "CLAW_HOME: ")
        return Places(folder, folder)
    import click

    config = Path(click.get_app_dir("claw"))
    if sys.platform == "darwin":
        return Places(config, config)
    state = user_path(environ.get("XDG_STATE_HOME") or "~/.local/state", "the state: ")
    return Places(config, state / "claw")


def user_path(name: str, where: str = "") -> Path:
    """A path as the user wrote it, `~` and `~name` replaced, absolute; nothing of it need be there.

    ConfigError where it can't be a path. `where` begins the message: what the user wrote it for.
    """
    if "\0" in name:
        raise ConfigError(f"{where}{name!r} holds a NUL character, which no path can")
    try:
        return Path(name).expanduser().absolute()
    except RuntimeError as error:  # no such user, or one whom the system gives no home
        raise ConfigError(f"{where}{name}: ~ leads to no home folder; write it out") from error
    except OSError as error:
        raise ConfigError(f"{where}{name}: the current folder is gone") from error


def private_folder(folder: Path) -> Path:
    """Makes `folder` with mode 0700; ConfigError where that can't be done."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{folder} can't be used for claw's own files: {error.strerror}; "
            "mend it, or set CLAW_HOME to another folder"
        ) from error
    return folder


def write_private(file: Path, text: str) -> None:
    """Replaces `file` in one step; mode 0600. ConfigError where that can't be done."""
    from claw.tools.atomic import replace_file, status_of

    try:
        folder = os.open(private_folder(file.parent), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            before = status_of(folder, file.name)
            replace_file(folder, file.name, text.encode(), before, mode=0o600)
        finally:
            os.close(folder)
    except OSError as error:
        raise ConfigError(f"{file} can't be written: {error.strerror}") from error


def open_plain(file: Path) -> BufferedReader:
    """Opens a file of the user's to read its bytes; OSError also for what is no plain file: to
    open a FIFO would wait for a writer for ever."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file")
    return open(descriptor, "rb")


def read_plain(file: Path, limit: int) -> bytes:
    """All of a plain file; OSError, with words in `strerror`, also for one over `limit` bytes."""
    with open_plain(file) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is over {limit // 1000} kB")
    return data
