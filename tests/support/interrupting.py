"""Ctrl-C as a script without claw's command gets it: SIGINT, and Python's own handler."""

from __future__ import annotations

import signal
import threading
import time


def interrupt_main(noticed: threading.Event) -> float:
    """SIGINT to the main thread; called from another one. The time of the one that was noticed.

    CPython sees a signal that comes between its last look and its going to sleep only when it
    wakes. That is why claw's command has a watcher thread (claw/cli/interrupts.py); a script's
    user presses Ctrl-C again, and so do we.
    """
    main = threading.main_thread().ident
    assert main is not None
    for _ in range(100):
        struck_at = time.monotonic()
        signal.pthread_kill(main, signal.SIGINT)
        if noticed.wait(0.3):
            return struck_at
    raise AssertionError("no KeyboardInterrupt")
