"""Keeps the key in this process: nobody else of the same user may look into its memory.

A child of ours gets no key in its environment, but could read it in /proc/<us>/environ, or attach
to us as a debugger. Linux refuses both for a process that is not dumpable. What a child runs is
dumpable again, and root may look at everything.
"""

from __future__ import annotations

import sys

PR_SET_DUMPABLE = 4  # linux/prctl.h


def make_undumpable() -> bool:
    """Whether the system did it. Only ever called by the command: to an embedding program its own
    core dumps and debuggers may matter."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):  # a libc without it
        return False
