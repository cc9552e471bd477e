"""claw's log. A run in which nothing fails writes none, so `logging` is imported with the first
line: it would be a tenth of what importing the engine costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


def log() -> Logger:
    """The logger named "claw". Any thread may call it."""
    from logging import NullHandler, getLogger

    logger = getLogger("claw")
    if not logger.handlers:  # a program that sets up no logging gets no output
        logger.addHandler(NullHandler())
    return logger
