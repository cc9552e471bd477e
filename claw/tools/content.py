"""What a file that is to be changed holds, and how it is written, so that it can be undone."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from claw.errors import ToolError
from claw.tools.atomic import replace_file, status_of
from claw.tools.descent import folder_of, in_words, open_regular
from claw.tools.workspace import Location
from claw.values import frozen

if TYPE_CHECKING:
    from claw.tools.undo import UndoLog

LARGEST_CHANGED = 20_000_000


@frozen
class Content:
    """The bytes of a regular file, and what it was when they were read."""

    data: bytes
    status: os.stat_result

    @property
    def mode(self) -> int:
        return stat.S_IMODE(self.status.st_mode)


def content_at(place: Location) -> Content | None:
    """What a file holds; None if there is none. ToolError in words, for a large one too."""
    if not _exists(place):
        return None
    try:
        with open_regular(place) as file:
            status = os.fstat(file.fileno())
            # Read and counted, not only asked for its size: files of /proc say that they have 0.
            data = file.read(LARGEST_CHANGED + 1) or b""  # None: it has nothing just now
    except OSError as error:
        raise in_words(error, "read", place.name) from None
    size = max(status.st_size, len(data))
    if size > LARGEST_CHANGED:
        raise ToolError(
            f"{place.name} has {size:,} bytes, too many to change with this tool: "
            "use bash, for example with sed"
        )
    return Content(data, status)


def save(place: Location, data: bytes, before: Content | None, undo: UndoLog) -> None:
    """Writes a file whole or not at all, its folders made first, and records how to undo it.

    before: what `content_at` found; ToolError in words where that is no longer so.
    """
    made: list[Path] = []
    try:
        with folder_of(place, made) as folder:
            replace_file(folder, place.real.name, data, before.status if before else None)
    except BaseException as error:
        remove_folders(place, made)
        if isinstance(error, NotADirectoryError):
            raise ToolError(f"can't write {place.name}: a part of its path is a file") from None
        if isinstance(error, OSError):
            raise in_words(error, "write", place.name) from None
        raise
    undo.record(place, before, data, made)


def remove_folders(place: Location, made: Sequence[Path]) -> None:
    """Those of `place`'s folders that are empty and can be removed, the deepest first."""
    for path in sorted(made, reverse=True):
        with suppress(OSError, ToolError), folder_of(replace(place, real=path)) as folder:
            os.rmdir(path.name, dir_fd=folder)  # fails for a link, and where anything is in it


def _exists(place: Location) -> bool:
    """ToolError for what can't be looked at; a missing or wrong folder on the way means no."""
    try:
        with folder_of(place) as folder:
            return status_of(folder, place.real.name) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise in_words(error, "read", place.name) from None
