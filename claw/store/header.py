"""The first line of a session file, and what a list of sessions shows of each."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

from claw.messages import Message
from claw.store.records import VERSION, decoded
from claw.values import frozen

HEAD_BYTES = 16_384  # a header with the longest path that Linux allows fits in
TITLE_CHARACTERS = 100


@frozen
class Header:
    """Where a session began. created: "2026-11-30T12:47:43Z". title: the start of the first user
    message. parent: the session it was copied from; parent_length: messages it took over."""

    id: str
    cwd: str = ""
    model: str = ""
    created: str = ""
    title: str = ""
    parent: str = ""
    parent_length: int = 0

    def to_record(self) -> dict[str, Any]:
        record = {
            "type": "session",
            "version": VERSION,
            "id": self.id,
            "cwd": self.cwd,
            "model": self.model,
            "created": self.created,
            "title": self.title,
        }
        if self.parent:
            record |= {"parent": self.parent, "parent_length": self.parent_length}
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any], name: str, **more: Any) -> Self:
        """What can be read of a header; the id is the file's name, whatever the header says."""
        texts = {
            key: record[key]
            for key in ("cwd", "model", "created", "title", "parent")
            if isinstance(record.get(key), str)
        }
        length = record.get("parent_length")
        return cls(name, **texts, parent_length=length if isinstance(length, int) else 0, **more)


@frozen
class SessionInfo(Header):
    """A session as a list shows it. updated: when its file was last written, in seconds since the
    epoch. size: of the file, in bytes."""

    updated: float = 0.0
    size: int = 0


def title_of(messages: Sequence[Message]) -> str:
    """The start of the first user message, on one line; "" where there is none."""
    first = next((each.text for each in messages if each.role == "user"), "")
    return " ".join(first[: 4 * TITLE_CHARACTERS].split())[:TITLE_CHARACTERS]


def read_info(path: Path, name: str) -> SessionInfo | None:
    """Reads the head of a session file; None where it can't be opened or is no plain file. A
    header that can't be read leaves its fields empty."""
    try:
        with open_plain(path) as file:
            head = file.read(HEAD_BYTES)
            status = os.fstat(file.fileno())
    except OSError:
        return None
    try:
        record = decoded(head.partition(b"\n")[0])
    except ValueError:
        record = {}
    if record.get("type") != "session":
        record = {}
    return SessionInfo.from_record(record, name, updated=status.st_mtime, size=status.st_size)


def open_plain(path: Path) -> BinaryIO:
    """Opens a file to read; OSError also for what is no plain file: a FIFO would wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(f"{path} is no plain file")
    return open(descriptor, "rb")
