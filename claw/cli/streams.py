"""The three standard streams, for a command that may have been started without one of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from claw.errors import ClawError


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


def take_output() -> int:
    """A descriptor of claw's own for standard output. Number 1 is standard error from now on, and
    so is `sys.stdout`, for the rest of the process.

    Else what a tool of the user's prints, at its import or in a run, and what a program prints
    that it starts, would stand in the midst of the answer.
    """
    own = os.dup(1)  # which no child inherits
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # one buffer: what is printed stays in order
    return own


def write_output(text: str) -> None:
    """Writes to standard output at once; what its encoding doesn't have becomes a "?".

    BrokenPipeError where nobody reads it any more, ClawError where it can't be written.
    """
    encoding = sys.stdout.encoding
    with _failure_told():
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()


def flush_output(stdout: TextIO) -> None:
    """What is still buffered goes out. Errors as with `write_output`."""
    with _failure_told():
        stdout.flush()


def cannot_write(error: OSError) -> str:
    """The line for the user."""
    return f"standard output can't be written: {error.strerror or error}"


@contextmanager
def _failure_told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon_output()
        raise ClawError(cannot_write(error)) from error


def abandon_output() -> None:
    """After a failure: what is still buffered goes nowhere, so that exiting doesn't fail."""
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, 1)
    os.close(descriptor)
