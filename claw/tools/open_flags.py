"""How claw opens files and folders: nothing that leads elsewhere, waits, or outlives an exec."""

from __future__ import annotations

import os

NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC
LISTED_FOLDER = os.O_RDONLY | os.O_DIRECTORY | NO_LINK
# O_PATH where there is one: a folder may let people through that it doesn't let look around.
FOLDER = os.O_DIRECTORY | NO_LINK | getattr(os, "O_PATH", os.O_RDONLY)
# O_NONBLOCK, because `open` on a named pipe without a writer waits for ever.
READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | NO_LINK
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK
