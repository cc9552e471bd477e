"""The way down to a file, part by part, so that nobody can bend it between check and use.

`Workspace.locate` resolves every link and says where a path leads; the user may be asked about
it. If the file were then opened by its whole path, a folder on the way that has become a link
since (by a command that still runs) would lead elsewhere, unasked. So a file is reached from the
descriptor of its root: each part is opened relative to the one before with O_NOFOLLOW, and what
is read, made, renamed or removed at the end is named relative to the last folder's descriptor.
A folder that is moved meanwhile stays the folder that was checked.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from claw.errors import ToolError
from claw.tools.open_flags import FOLDER, LISTED_FOLDER, READING
from claw.tools.way_down import way_down
from claw.tools.workspace import Location


@contextmanager
def folder_of(place: Location, made: list[Path] | None = None) -> Iterator[int]:
    """A descriptor of the folder that holds `place`, closed at the end.

    made: with it, missing folders are made, and added to it. ToolError for a link on the way and
    for a root itself; OSError for the rest.
    """
    parts = place.real.relative_to(place.anchor).parts
    if not parts:
        raise ToolError(not_a_file(place.name, "folder"))
    at = place.anchor

    def step(folder: int, part: str) -> int:
        nonlocal at
        at /= part
        with _links_in_words(place, at, folder):
            return _opened(folder, at, made)

    with (
        way_down(place.anchor, parts[:-1], FOLDER, step) as folder,
        _links_in_words(place, place.real, folder),
    ):
        yield folder


def open_regular(place: Location) -> BufferedReader:
    """Opens a regular file to read its bytes, or raises ToolError in words."""
    try:
        with folder_of(place) as folder:
            descriptor = os.open(place.real.name, READING, dir_fd=folder)
    except FileNotFoundError:
        raise ToolError(f"{place.name} doesn't exist{near_names(place.real)}") from None
    except OSError as error:
        raise in_words(error, "read", place.name) from None
    try:
        kind = kind_of(os.fstat(descriptor))
        if kind != "file":
            raise ToolError(not_a_file(place.name, kind))
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def open_folder(place: Location) -> int:
    """A descriptor to list a folder with, for the caller to close; ToolError in words."""
    try:
        if place.real == place.anchor:
            return os.open(place.real, LISTED_FOLDER)
        with folder_of(place) as folder:
            return os.open(place.real.name, LISTED_FOLDER, dir_fd=folder)
    except OSError as error:
        raise in_words(error, "list", place.name) from None


def kind_at(place: Location) -> str:
    """`kind_of` what is there; ToolError in words where there is nothing."""
    try:
        if place.real == place.anchor:
            return kind_of(os.lstat(place.real))
        with folder_of(place) as folder:
            return kind_of(os.stat(place.real.name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        raise ToolError(f"{place.name} doesn't exist{near_names(place.real)}") from None
    except OSError as error:
        raise in_words(error, "look at", place.name) from None


def kind_of(status: os.stat_result) -> str:
    """What a path is, in a word: file, folder, link, named pipe, socket or device."""
    kinds = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "folder",
        stat.S_IFLNK: "link",
        stat.S_IFIFO: "named pipe",
        stat.S_IFSOCK: "socket",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "device")


def not_a_file(name: str, kind: str) -> str:
    """The words for something that isn't a regular file."""
    advice = "list_files shows what is in it" if kind == "folder" else "only files can be used"
    return f"{name} is a {kind}, not a file: {advice}"


def near_names(missing: Path) -> str:
    """A few existing names like the last part of `missing`, as the end of a sentence."""
    parent = missing.parent
    try:
        names = os.listdir(parent)
    except OSError:
        return f": there is no folder {parent}"
    folded = {name.lower(): name for name in names}
    from difflib import get_close_matches  # as in diff.py: 3 ms

    near = get_close_matches(missing.name.lower(), folded, n=3)
    return f"; near it: {', '.join(folded[name] for name in near)}" if near else ""


def in_words(error: OSError, what: str, name: str) -> ToolError:
    """The ToolError for what the system refused: `can't read x: Permission denied`."""
    return ToolError(f"can't {what} {name}: {error.strerror or error}")


def _opened(folder: int, at: Path, made: list[Path] | None) -> int:
    """Opens the next folder, `at`, whose last part is in `folder`; makes it where it may."""
    try:
        return os.open(at.name, FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if made is None:
            raise
    try:
        os.mkdir(at.name, dir_fd=folder)
        made.append(at)
    except FileExistsError:
        pass  # somebody else was quicker
    return os.open(at.name, FOLDER, dir_fd=folder)


@contextmanager
def _links_in_words(place: Location, at: Path, folder: int) -> Iterator[None]:
    """Turns an OSError about `at` into words where the reason is that it is a link."""
    try:
        yield
    except OSError as error:
        if _is_link(at.name, folder):
            raise ToolError(
                f"can't use {place.name}: {at} is a link that leads nowhere, or became one while "
                "this call ran"
            ) from error
        raise


def _is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
