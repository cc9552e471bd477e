"""Which processes of this machine have a text in their command line."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path


def alive(text: str) -> list[str]:
    """Their command lines; this process and its own ancestors' shells are left out by pid."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) in (os.getpid(), os.getppid()):
            continue
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, UnicodeDecodeError):
            continue
        if text in command:
            found.append(command)
    return found


def gone_within(seconds: float, text: str) -> bool:
    """Whether no process with `text` is left by then; a killed one needs a moment to vanish."""
    end = time.monotonic() + seconds
    while alive(text):
        if time.monotonic() > end:
            return False
        threading.Event().wait(0.01)
    return True
