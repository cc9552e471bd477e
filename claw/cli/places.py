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
        folder = Path(home).expanduser().absolute()
        return Places(folder, folder)
    import click

    config = Path(click.get_app_dir("claw"))
    if sys.platform == "darwin":
        return Places(config, config)
    state = environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Places(config, Path(state).expanduser() / "claw")


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
    private_folder(file.parent)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise ConfigError(f"{file} can't be written: {error.strerror}") from error


def open_plain(file: Path) -> BufferedReader:
    """Opens a file of the user's to read its bytes; OSError also for what is no plain file: to
    open a FIFO would wait for a writer for ever."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file")
    return open(descriptor, "rb")
