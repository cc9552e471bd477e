"""reporter_for: the reporter that suits a stream, with what is installed."""

from __future__ import annotations

import os
import shutil
from functools import partial
from typing import TextIO

from claw.cli.plain import PlainReporter
from claw.cli.rich_terminal import painter_for
from claw.cli.style import plain
from claw.reporter import Reporter

WIDTH_OF_A_LOG = 100


def reporter_for(
    stream: TextIO, *, show_text: bool, color: bool, quiet: bool = False, verbose: bool = False
) -> Reporter:
    """A reporter that writes to `stream`: nothing decorative unless that is a terminal.

    show_text: the answer too, not only tools and notices. The model's thinking is shown where it
    can be told from the answer (dim), or where `verbose` asks for it.
    """
    terminal = stream.isatty()
    paint = painter_for(stream, color=color)
    return PlainReporter(
        stream,
        show_text=show_text,
        width=partial(_columns_of, stream) if terminal else lambda: WIDTH_OF_A_LOG,
        live=terminal and os.environ.get("TERM") != "dumb",
        quiet=quiet,
        show_reasoning=verbose or paint is not plain,
        paint=paint,
    )


def _columns_of(stream: TextIO) -> int:
    """The terminal's columns now (it may have been resized)."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return shutil.get_terminal_size().columns
