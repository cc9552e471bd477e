"""Reading a pipe or a file to its end, so that a cancel or a deadline is never waited out."""

from __future__ import annotations

import math
import os
import select
import stat
import time

from claw.cancel import CancelToken
from claw.errors import ConfigError
from claw.wake_pipe import WakePipe

FIRST_BYTE_SECONDS = 3.0
LIMIT = 10_000_000
PIECE = 65_536


def read_to_end(
    descriptor: int, cancel: CancelToken, *, what: str, first_byte_s: float | None = None
) -> bytes | None:
    """All bytes up to the end of file; None when not even one came within `first_byte_s`.

    Raises Cancelled as soon as `cancel` fires, ConfigError over 10 MB; `what` names the source.
    """
    pieces: list[bytes] = []
    size = 0
    patience_ends = math.inf if first_byte_s is None else time.monotonic() + first_byte_s
    with WakePipe(cancel) as wake:
        while True:
            patience = patience_ends - time.monotonic()
            if not pieces and patience <= 0:
                return None
            waits = [cancel.remaining(), None if pieces else patience]
            known = [wait for wait in waits if wait is not None and wait != math.inf]
            watched: list[int] = [descriptor, wake.fileno()]
            ready, _, _ = select.select(watched, [], [], min(known, default=None))
            cancel.raise_if_cancelled()
            if descriptor not in ready:
                continue
            piece = os.read(descriptor, PIECE)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            size += len(piece)
            if size > LIMIT:
                raise ConfigError(
                    f"{what} is over {LIMIT // 1_000_000} MB: give the model the name of a file"
                )


def context_of(descriptor: int, cancel: CancelToken) -> str | None:
    """What stands on a redirected standard input, beside a prompt: "" where it isn't redirected.

    A file is read whole. A pipe that stays silent for 3 s is given up on: None.
    """
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:  # it is closed
        return ""
    if stat.S_ISCHR(mode):  # a terminal, or /dev/null
        return ""
    patience = None if stat.S_ISREG(mode) else FIRST_BYTE_SECONDS
    data = read_to_end(descriptor, cancel, what="standard input", first_byte_s=patience)
    return None if data is None else data.decode("utf-8", "replace")
