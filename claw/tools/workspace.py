"""Where a path leads: resolved through links, and inside the workspace or outside of it."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from claw.errors import ToolError
from claw.values import frozen


@frozen
class Location:
    """One path of a call. real: absolute, no links left in it. name: as people and the model see
    it, relative to the workspace where it lies inside. readable: may be read unasked."""

    real: Path
    name: str
    inside: bool
    readable: bool


class Workspace:
    """The folder a set of tools is bound to. Any thread may ask it."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(os.path.realpath(root))
        self._lent: set[Path] = set()

    def locate(self, path: str) -> Location:
        """Resolves `path`, relative to the root; it need not exist. ToolError if it can't be one.

        The deepest existing folder is resolved too, so a link to a folder outside can't smuggle a
        new file out; parts are compared whole, so /work-secrets is not inside /work.
        """
        if not path or "\0" in path:
            raise ToolError("path is empty or holds a NUL: give a path relative to the workspace")
        try:
            asked = os.path.join(self.root, os.path.expanduser(path))
            real = Path(os.path.realpath(asked))
        except UnicodeEncodeError:
            raise ToolError(f"path can't be a file name: {path!r}") from None
        inside = real.is_relative_to(self.root)
        lent = any(real.is_relative_to(folder) for folder in list(self._lent))
        name = str(real.relative_to(self.root)) if inside else str(real)
        return Location(real, name, inside, inside or lent)

    def read_caution(self, path: str) -> str | None:
        """Why reading `path` should be asked about; None where it needn't."""
        return self._caution(path, "readable")

    def write_caution(self, path: str) -> str | None:
        """What an approval question should say about writing `path`; None where it is ordinary."""
        return self._caution(path, "inside")

    def lend(self, folder: Path) -> None:
        """Lets a folder outside be read unasked, such as one that holds a command's output."""
        self._lent.add(Path(os.path.realpath(folder)))

    def take_back(self, folder: Path) -> None:
        self._lent.discard(Path(os.path.realpath(folder)))

    def _caution(self, path: str, harmless: str) -> str | None:
        try:
            place = self.locate(path)
        except ToolError:
            return None  # the call itself will say so, and touch nothing
        if getattr(place, harmless):
            return None
        lexical = Path(os.path.normpath(os.path.join(self.root, os.path.expanduser(path))))
        through = f"{path} leads through a link to " if lexical != place.real else ""
        return f"outside the workspace {self.root}: {through}{place.real}"


def open_regular(place: Location) -> BufferedReader:
    """Opens a regular file to read its bytes, or raises ToolError in words.

    O_NONBLOCK, because `open` on a named pipe without a writer waits for ever.
    """
    try:
        descriptor = os.open(place.real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ToolError(f"{place.name} doesn't exist{near_names(place.real)}") from None
    except OSError as error:
        raise in_words(error, "read", place.name) from None
    kind = kind_of(os.fstat(descriptor))
    if kind != "file":
        os.close(descriptor)
        raise ToolError(not_a_file(place.name, kind))
    return open(descriptor, "rb")


def kind_of(status: os.stat_result) -> str:
    """What a path is, in a word: file, folder, named pipe, socket or device."""
    kinds = {
        stat.S_IFREG: "file",
        stat.S_IFDIR: "folder",
        stat.S_IFIFO: "named pipe",
        stat.S_IFSOCK: "socket",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "device")


def kind_at(place: Location) -> str:
    """`kind_of` what is there; ToolError in words where there is nothing."""
    try:
        return kind_of(os.stat(place.real))
    except FileNotFoundError:
        raise ToolError(f"{place.name} doesn't exist{near_names(place.real)}") from None
    except OSError as error:
        raise in_words(error, "look at", place.name) from None


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
