"""The files that `claw local` is given, looked at before anything is started for them."""

from __future__ import annotations

from pathlib import Path

from claw.cli.places import open_plain, read_plain, user_path
from claw.errors import ConfigError

MAGIC = b"GGUF"  # the first bytes of every file in llama.cpp's format
TEMPLATE_BYTES = 1_000_000


def checked_model(name: str) -> Path:
    """The path of a GGUF file, or ConfigError in words for the user."""
    path = user_path(name)
    try:
        with open_plain(path) as stream:
            start = stream.read(len(MAGIC))
    except FileNotFoundError as error:
        raise ConfigError(f"{name}: there is no such file; give a model file (.gguf)") from error
    except OSError as error:
        words = f"{name} can't be read: {error.strerror}; give a model file (.gguf)"
        raise ConfigError(words) from error
    if start != MAGIC:
        raise ConfigError(f"{name} is no GGUF file, and llama.cpp reads nothing else")
    return path


def checked_template(name: str) -> Path | None:
    """The path of a chat template, None for ""; ConfigError where it can't be read as text."""
    if not name:
        return None
    path = user_path(name, "--chat-template ")
    try:
        read_plain(path, TEMPLATE_BYTES).decode()
    except OSError as error:
        raise ConfigError(f"--chat-template {name} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        words = f"--chat-template {name} can't be read: it isn't text in UTF-8"
        raise ConfigError(words) from error
    return path
