"""AGENTS.md: the user's own, and a project's from the root of its repository down to the folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from claw.cli.places import open_plain
from claw.cli.project import INSTRUCTIONS, INSTRUCTIONS_BYTES
from claw.values import frozen

OWN = """\


These are the user's own instructions, for all their projects:

{text}"""

PROJECT = """\


The user trusts this folder. These are the project's own instructions, the nearest last; the \
user's words come first where they disagree:"""

FILE = """\


From {file}:

{text}"""


@frozen
class InstructionFile:
    """One AGENTS.md that is there. size: its bytes. text: what the model gets of it. missing: why
    it isn't read, or not to its end; "" where nothing is missing."""

    file: Path
    size: int = 0
    text: str = ""
    missing: str = ""


@frozen
class Instructions:
    """The files in the order in which the model gets them. notices: lines to tell."""

    own: tuple[InstructionFile, ...] = ()
    project: tuple[InstructionFile, ...] = ()
    notices: tuple[str, ...] = ()

    def section(self) -> str:
        """What the system prompt says of them; "" where there are none."""
        parts = [OWN.format(text=each.text) for each in self.own if each.text]
        files = [
            FILE.format(file=_on_one_line(each.file), text=each.text)
            for each in self.project
            if each.text
        ]
        return "".join([*parts, *([PROJECT] if files else []), *files])

    def rows(self) -> list[tuple[str, str, str]]:
        """For `claw config show`: name, file, how large it is and what of it is missing."""
        return [
            ("instructions", str(each.file), ", ".join(filter(None, (_size(each), each.missing))))
            for each in (*self.own, *self.project)
        ]


def read_instructions(
    folder: Path, config: Path, *, trusted: bool, answer: Callable[[Path], bool | None]
) -> Instructions:
    """Reads what there is for work in `folder`, 32 kB in all: of that the user's own file gets what
    it needs, then the nearest.

    config: claw's config folder. trusted: whether the user trusts `folder`; else nothing of the
    project is read. answer: what the user said about a folder above it, None if nobody asked. A
    name like `@other.md` in a file is text, and nothing that is followed.
    """
    real = Path(os.path.realpath(folder))
    found: list[InstructionFile] = []
    notices: list[str] = []
    for each in _up_to_root(real) if trusted else ():
        if each == real or answer(each):
            found += _read(each / INSTRUCTIONS, within=each)
        elif answer(each) is None and os.path.lexists(each / INSTRUCTIONS):
            why = "that folder isn't trusted yet; `claw`, started there, asks once"
            notices.append(f"{each / INSTRUCTIONS} is not read: {why}")
    own = _read(config / INSTRUCTIONS, within=None)
    fitted = _fitted([*own, *found])
    notices += [f"{each.file} is {each.missing}" for each in fitted if each.missing]
    project = reversed(fitted[len(own) :])
    return Instructions(tuple(fitted[: len(own)]), tuple(project), tuple(notices))


def _up_to_root(folder: Path) -> list[Path]:
    """The folder and those above it, up to the first that is a repository's root; the folder
    alone where none is."""
    line = [folder, *folder.parents]
    for index, each in enumerate(line):
        if (each / ".git").exists():
            return line[: index + 1]
    return [folder]


def _read(file: Path, *, within: Path | None) -> list[InstructionFile]:
    """The file if it is there. within: the folder that it mustn't link out of; the user's own
    may be a link, for it is the user's."""
    try:
        real = Path(os.path.realpath(file))
        if within is not None and not real.is_relative_to(within):
            words = "not read: it links to a place outside of the folder"
            return [InstructionFile(file, missing=words)]
        with open_plain(real) as stream:
            size = os.fstat(stream.fileno()).st_size
            data = stream.read(INSTRUCTIONS_BYTES + 1)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [InstructionFile(file, missing=f"not read: {error.strerror}")]
    return [InstructionFile(file, max(size, len(data)), data.decode("utf-8", "ignore").strip())]


def _fitted(files: list[InstructionFile]) -> list[InstructionFile]:
    """The same files, the first ones whole as far as they fit."""
    fitted, room = [], INSTRUCTIONS_BYTES
    for each in files:
        data = each.text.encode()
        text, missing = each.text, each.missing
        if text and not room:
            text, missing = "", "not used: other instructions take up the 32 kB"
        elif len(data) > room or each.size > INSTRUCTIONS_BYTES:
            text = data[:room].decode("utf-8", "ignore").strip()
            missing = "cut: only its beginning is used, for instructions take 32 kB at most"
        room -= len(text.encode())
        fitted.append(InstructionFile(each.file, each.size, text, missing))
    return fitted


def _size(each: InstructionFile) -> str:
    return f"{each.size:,} bytes" if each.size else ""


def _on_one_line(file: Path) -> str:
    return str(file).replace("\n", "?")
