"""The three standard streams, for a command that may have been started without one of them."""

from __future__ import annotations

import os
import sys


def complete_streams() -> bool:
    """Opens on /dev/null what of 0, 1 and 2 is closed; False when standard output was.

    Otherwise the next socket would get the number, and what is meant for a stream would go to a
    server. Python itself has None in the place of a stream that was closed.
    """
    had_output = sys.stdout is not None
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  # for the rest of the process
    return had_output


def abandon_output() -> None:
    """After a closed pipe: what is still buffered goes nowhere, so that exiting doesn't fail."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, 1)
    os.close(descriptor)
