"""StoredSession: a Session whose every step is in its file before the next one is taken."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import FileIO
from pathlib import Path

from claw.errors import HistoryError
from claw.events import RunResult
from claw.messages import Message, ToolCall, ToolResult
from claw.session import Session
from claw.store.header import Header, title_of
from claw.store.journal import Journal
from claw.store.mask import Mask
from claw.store.records import VERSION, Record, ended_record, message_record, results_record
from claw.store.replay import Replayed


class StoredSession(Session):
    """Made by a SessionStore. Close it: that lets the next process have the file.

    messages: a history that is whole. file: it stands there already, open and locked; without, a
    file at `path` begins, with the header and all messages, at the first step that is recorded.
    totals: of all runs in the file. Keys are masked in the file, not in memory.

    A disk that can't be written is no error here: `notices` says so, the run tells it at its end,
    and what waits is written as soon as that works.
    """

    def __init__(
        self,
        header: Header,
        path: Path,
        mask: Mask,
        messages: Iterable[Message] = (),
        *,
        file: FileIO | None = None,
    ) -> None:
        super().__init__(messages)
        self.id = header.id
        self.header = header
        self._journal = Journal(path, self._tell, file)
        self._mask = mask
        self._begun = file is not None
        self._stale = False
        self._told: dict[str, ToolResult] = {}

    @property
    def unsaved(self) -> int:
        """Records that wait for room on the disk."""
        return len(self._journal.waiting)

    def append(self, message: Message) -> None:
        super().append(message)
        self._record()

    def call_started(self, call: ToolCall) -> None:
        super().call_started(call)
        self._record({"type": "call_started", "id": call.id})

    def call_ended(self, call: ToolCall, result: ToolResult) -> None:
        super().call_ended(call, result)
        self._record(ended_record(result))
        self._told[call.id] = result

    def compact(self, head: Sequence[Message], *, kept: int) -> None:
        heads = [message.to_dict() for message in head]
        with self._replacing({"type": "compacted", "kept": kept, "head": heads}):
            super().compact(head, kept=kept)

    def rewind(self, length: int) -> None:
        with self._replacing({"type": "rewound", "length": length}):
            super().rewind(length)

    def clear(self) -> None:
        with self._replacing({"type": "cleared"}):
            super().clear()

    def run_ended(self, result: RunResult) -> list[str]:
        """Records the end of the run, makes all of it last, and returns what there is to tell."""
        super().run_ended(result)
        self._record(
            {
                "type": "turn_ended",
                "status": result.status.value,
                "steps": result.steps,
                "usage": result.usage.to_dict(),
                "cost": result.cost,
                "time": round(time.time(), 3),
            }
        )
        self._journal.sync()
        return self.take_notices()

    def save(self) -> None:
        """Begins the file now, though nothing new has happened, and makes it last."""
        self._record()
        self._journal.sync()

    def close(self) -> None:
        """As every Session; and the file is whole, synced and free for the next process. What
        could not be saved is in `notices`."""
        super().close()
        self._journal.close()

    def mended(self, replayed: Replayed) -> None:
        """Told by the store that the file was read, this session being what it tells. What is put
        right is recorded, and so told once: `notices` has a line for each."""
        self.totals = replayed.totals
        self._journal.skip(len(self._messages) - bool(replayed.closed))
        if not replayed.ends_whole:
            self._journal.write(b"\n", self._journal.mark)
        if replayed.version < VERSION:
            self._write(self.header.to_record(), self._journal.mark)
        self._record(*([{"type": "told"}] if replayed.damage else []))
        self.notices += replayed.notices()

    def _record(self, *records: Record) -> None:
        """Writes records, and before them what the file lacks of the conversation: the message
        that was appended, and those whose record an interrupt kept from being written."""
        for record, length in self._lacking():
            self._write(record, length)
        for record in records:
            self._write(record, self._journal.mark)

    def _lacking(self) -> Iterator[tuple[Record, int]]:
        """Records, each with the number of messages that the file holds once it has that one.

        A tool message names its calls alone: their results were recorded as they ended. Those of
        calls that never ran come with it.
        """
        if not self._begun:
            self.header = replace(self.header, title=self.header.title or title_of(self.messages))
            yield self.header.to_record(), 0
            self._begun = True
        if self._stale:
            yield {"type": "cleared"}, 0
            self._stale = False
        start = self._journal.mark
        for index, message in enumerate(self._messages[start:], start):
            if message.role == "tool":
                for result in message.tool_results:
                    if self._told.get(result.call_id) != result:
                        yield ended_record(result), index
                yield results_record(message), index + 1
            else:
                yield message_record(message), index + 1
            self._told.clear()

    @contextmanager
    def _replacing(self, record: Record) -> Iterator[None]:
        """Around a step that replaces messages. Until its record is written the file is stale:
        the next record would begin with the whole conversation."""
        if not self._begun:
            yield
            return
        self._record()
        self._stale = True
        try:
            yield
        except HistoryError:
            self._stale = False
            raise
        self._stale = not self._write(record, len(self._messages))

    def _write(self, record: Record, length: int) -> bool:
        """Whether the record could be made a line; whether that is on the disk is the journal's
        business."""
        try:
            line = self._mask.encoded(record)
        except HistoryError as error:
            self._journal.skip(length)
            self._tell(f"a part of this session can't be saved: {error.message}")
            return False
        self._journal.write(line, length)
        return True

    def _tell(self, line: str) -> None:
        self.notices.append(line)
