"""Runs recorded on tapes, and the same played again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from claw.cancel import CancelToken
from claw.engine import Engine
from claw.errors import ClawError
from claw.reporter import MemoryReporter, Reporter
from claw.session import Session
from claw.tape import Recorder, Tape, Verdict, read_tape, replay

KEY = "sk-very-secret-0123456789"


class Taped:
    """What a recorded run was, in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.session = Session()
        self.told = MemoryReporter()

    @property
    def tape(self) -> Tape:
        return read_tape(self.path)

    @property
    def text(self) -> str:
        return self.path.read_text()


def record(
    path: Path,
    engine: Engine,
    *prompts: str,
    cancel: CancelToken | None = None,
    reporter: Reporter | None = None,
    **options: Any,
) -> Taped:
    """Runs the prompts in one session, on one tape."""
    taped = Taped(path)
    with Recorder(path, **options) as recorder:
        for prompt in prompts:
            with suppress(ClawError):
                told = reporter or taped.told
                recorder.run(engine, taped.session, prompt, cancel=cancel, reporter=told)
    return taped


def played(taped: Taped) -> Verdict:
    """The tape played again: it must come out as it is on the tape, and as it was."""
    tape, told = taped.tape, MemoryReporter()
    verdict = replay(tape, reporter=told)
    assert not verdict.difference, verdict.difference
    if not verdict.cut:
        last = tape.runs[max(tape.runs)]
        assert last.messages == list(taped.session.messages[last.kept :])
        assert told.text == taped.told.text
        assert _contents(told) == _contents(taped.told)
    return verdict


def _contents(told: MemoryReporter) -> list[str]:
    """Without the ids: claw itself makes one where a server gives none."""
    return [result.content for result in told.tool_results]
