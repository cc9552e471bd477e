"""SessionStore: the folder of all sessions: begin, find, open, list, copy, remove, search."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from claw.errors import ConfigError, HistoryError
from claw.messages import Message
from claw.session import Session
from claw.store.blobs import BlobFolder
from claw.store.export import FORMS, Form
from claw.store.header import Header, SessionInfo, open_plain, read_info
from claw.store.ids import ID, matching, new_id
from claw.store.journal import locked_file, reason
from claw.store.mask import Mask
from claw.store.replay import Replayed, replay
from claw.store.search import Hit, hits_in
from claw.store.stored import StoredSession

SUFFIX = ".jsonl"
AMBIGUOUS = 5  # ids that the message about an ambiguous prefix names


class SessionStore:
    """The sessions in `folder`, which is made with the first one.

    secrets: values that are masked in every file (of 8 characters or more). A session is named by
    its id, by what the id begins with, or by what its last part begins with. ConfigError: there is
    no such session, there are several, or the file can't be used; the message says which.
    """

    def __init__(self, folder: Path, *, secrets: Iterable[str] = ()) -> None:
        self.folder = folder
        self._mask = Mask(secrets)

    def new(self, cwd: str | os.PathLike[str], model: str) -> StoredSession:
        """An empty session; its file is there once something was said in it."""
        return self._begin(Header(new_id(), os.fspath(cwd), model, _now()))

    def open(self, prefix: str) -> StoredSession:
        """The session, to go on with. Where another process has it open: a copy, with an id of its
        own, which `notices` tells. So they do about what was lost or closed in the file."""
        info = self.find(prefix)
        path = self._path(info.id)
        try:
            file = locked_file(path)
        except BlockingIOError:
            return self._copy(info)
        except OSError as error:
            raise self._unusable(info.id, error) from error
        try:
            replayed = self._replay(info.id)
            session = StoredSession(info, path, self._mask, replayed.session.messages, file=file)
            session.mended(replayed)
        except BaseException:
            file.close()
            raise
        return session

    def load(self, prefix: str) -> Replayed:
        """The conversation, to look at: the file stays as it is, whoever has it open."""
        return self._replay(self.find(prefix).id)

    def fork(self, source: str | Session, length: int | None = None) -> StoredSession:
        """A new session with the first `length` messages of another (None: all), saved at once;
        its header names its parent. HistoryError where a call would lose its results."""
        if isinstance(source, str):
            info: Header = self.find(source)
            messages: Sequence[Message] = self._replay(info.id).session.messages
        else:
            info = source.header if isinstance(source, StoredSession) else Header("")
            messages = source.messages
        length = len(messages) if length is None else length
        if not 0 <= length <= len(messages):
            raise HistoryError(f"this session has {len(messages)} messages, not {length}")
        if length and messages[length - 1].tool_calls:
            raise HistoryError("a conversation can't be cut between a call and its result")
        session = self._begin(_child(info, length), messages[:length])
        session.save()
        return session

    def find(self, prefix: str) -> SessionInfo:
        """The one session that `prefix` names."""
        found = matching(prefix, self._ids())
        if not found:
            raise ConfigError(f"there is no session {prefix}: `claw sessions list` shows them")
        if len(found) > 1:
            more = ["..."] if len(found) > AMBIGUOUS else []
            named = ", ".join([*found[-AMBIGUOUS:], *more])
            raise ConfigError(f"{len(found)} sessions begin with {prefix}: {named}")
        info = read_info(self._path(found[0]), found[0])
        if info is None:
            raise ConfigError(f"{self._path(found[0])} can't be read")
        return info

    def list(self) -> Sequence[SessionInfo]:
        """All sessions, the last used first. Reads the head of each file and no more."""
        found = (read_info(self._path(each), each) for each in self._ids())
        return sorted(
            (info for info in found if info is not None),
            key=lambda info: (info.updated, info.id),
            reverse=True,
        )

    def latest(self, cwd: str | os.PathLike[str]) -> SessionInfo | None:
        """The session of this folder that was used last; None where there is none."""
        return next((info for info in self.list() if info.cwd == os.fspath(cwd)), None)

    def remove(self, prefix: str) -> SessionInfo:
        """Removes a session and what is kept beside it, unless a process has it open."""
        info = self.find(prefix)
        path = self._path(info.id)
        try:
            with locked_file(path):
                self.blobs(info.id).remove()
                path.unlink()
        except BlockingIOError as error:
            raise ConfigError(f"session {info.id} is open in another claw") from error
        except OSError as error:
            raise ConfigError(f"{path} can't be removed: {reason(error)}") from error
        return info

    def export(self, prefix: str, form: Form) -> Iterator[str]:
        """The conversation as "markdown" or "json", in pieces."""
        info = self.find(prefix)
        return FORMS[form](info, self._replay(info.id))

    def search(self, text: str) -> Iterator[Hit]:
        """Where `text` was said, in any session, the last used first; letter case doesn't count.
        Finds it also in what was compacted or cleared away."""
        for info in self.list():
            try:
                with open_plain(self._path(info.id)) as file:
                    yield from hits_in(file, info, text)
            except OSError:  # removed meanwhile
                continue

    def blobs(self, session_id: str) -> BlobFolder:
        """What is kept beside the session: it goes with it."""
        return BlobFolder(self.folder / f"{session_id}.blobs")

    def _ids(self) -> Iterator[str]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return iter(())
        except OSError as error:
            raise ConfigError(f"{self.folder} can't be read: {reason(error)}") from error
        ids = (name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))
        return (each for each in ids if ID.fullmatch(each))

    def _path(self, session_id: str) -> Path:
        return self.folder / f"{session_id}{SUFFIX}"

    def _replay(self, session_id: str) -> Replayed:
        try:
            with open_plain(self._path(session_id)) as file:
                return replay(file)
        except OSError as error:
            raise self._unusable(session_id, error) from error

    def _begin(self, header: Header, messages: Sequence[Message] = ()) -> StoredSession:
        return StoredSession(header, self._path(header.id), self._mask, messages)

    def _copy(self, info: SessionInfo) -> StoredSession:
        """What the other process has written so far; a record it is writing now is no damage."""
        messages = self._replay(info.id).session.messages
        session = self._begin(_child(info, len(messages)), messages)
        session.notices.append(
            f"session {info.id} is open in another claw: this is a copy of it, {session.id}"
        )
        return session

    def _unusable(self, session_id: str, error: OSError) -> ConfigError:
        return ConfigError(f"{self._path(session_id)} can't be opened: {reason(error)}")


def _child(parent: Header, length: int) -> Header:
    return Header(
        new_id(), parent.cwd, parent.model, _now(), parent.title, parent.id, parent_length=length
    )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
