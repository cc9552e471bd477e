"""The model file that the user names, looked at before anything is started for it."""

from __future__ import annotations

from pathlib import Path

from claw.errors import ConfigError

MAGIC = b"GGUF"  # the first bytes of every file in llama.cpp's format


def checked_model(name: str) -> Path:
    """The path of a GGUF file, or ConfigError in words for the user."""
    path = Path(name).expanduser().absolute()
    if not path.exists():
        raise ConfigError(f"{name}: there is no such file; give a model file (.gguf)")
    if not path.is_file():
        raise ConfigError(f"{name} is no file: give a model file (.gguf)")
    if _start_of(path, name) != MAGIC:
        raise ConfigError(f"{name} is no GGUF file, and llama.cpp reads nothing else")
    return path


def checked_template(name: str) -> Path | None:
    """The path of a chat template, None for ""; ConfigError where it can't be read as text."""
    if not name:
        return None
    path = Path(name).expanduser().absolute()
    try:
        path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, "strerror", None) or "it isn't text in UTF-8"
        raise ConfigError(f"--chat-template {name} can't be read: {words}") from error
    return path


def _start_of(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC))
    except OSError as error:
        raise ConfigError(f"{name} can't be read: {error.strerror}") from error
