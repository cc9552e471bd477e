"""Recorder: a run of an engine, put on a tape: the wire, the events, the calls, the answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from copy import copy
from pathlib import Path
from threading import Lock
from typing import Any

from claw.cancel import CancelToken
from claw.engine import Engine
from claw.events import Notice, RunEvent, RunFinished, RunResult
from claw.messages import Message
from claw.reporter import Reporter
from claw.session import Session
from claw.store.records import Record
from claw.tape.format import Header
from claw.tape.lanes import Told
from claw.tape.masking import Secrets
from claw.tape.setup import setup_record
from claw.tape.taps import RunTaps
from claw.tape.writer import TapeWriter
from claw.tools.base import ToolRegistry

FLUSH_S = 2.0


class Recorder:
    """A tape at `path`, on which any number of runs go, one after the other or at once.

    secrets: what is masked, beside the keys of the runs' own providers. For the rest see
    TapeWriter. Close it at the end, or use it as a context manager.
    """

    def __init__(self, path: Path, *, secrets: Iterable[str] = ()) -> None:
        self._writer = TapeWriter(path)
        self._keys = set(secrets)
        self._secrets = Secrets()
        self._runs = 0
        self._lock = Lock()
        self._left: tuple[int, tuple[Message, ...]] = (0, ())
        self._failure_told = False

    def run(
        self,
        engine: Engine,
        session: Session,
        prompt: str,
        *,
        cancel: CancelToken | None = None,
        reporter: Reporter | None = None,
    ) -> RunResult:
        """`engine.run` with the same arguments and the same outcome, recorded."""
        history = session.messages
        with self._lock:
            self._begin(engine)
            self._runs = number = self._runs + 1
            record = self._run_record(number, engine, session, prompt)
            self._writer.put_wire(lambda: record)  # before all that comes of it
            taps = RunTaps(self._writer, number, self._secrets)
        chosen = engine.reporter if reporter is None else reporter
        listening = Listening(self, number, session, history, chosen or Reporter())
        tapped = _tapped(engine, taps)
        try:
            return tapped.run(session, prompt, cancel=cancel, reporter=listening)
        finally:
            listening.put_batch()
            taps.end()
            engine.context_window = tapped.context_window  # a refusal may have told it

    def take_failure(self) -> str:
        """Why the tape ends early, for the user; "" as long as it doesn't, and once it was told."""
        if self._failure_told or not self._writer.failure:
            return ""
        self._failure_told = True
        return self._writer.failure

    def close(self) -> None:
        """Writes what waits, and lets go of the file."""
        self._writer.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def told(self, number: int, events: Sequence[RunEvent]) -> None:
        """Puts events on the tape."""
        self._writer.put(Told(number, self._writer.now(), events))

    def ended(self, number: int, history: Sequence[Message], messages: Sequence[Message]) -> None:
        """Puts on the tape what the run left, and waits until all of it is written, or 2 s."""
        kept = _common(history, messages)
        added = messages[kept:]
        self._writer.put(
            lambda: {
                "type": "run_ended",
                "run": number,
                "kept": kept,
                "messages": [message.to_dict() for message in added],
            }
        )
        self._left = number, tuple(messages)
        self._writer.flush(FLUSH_S)

    def _begin(self, engine: Engine) -> None:
        """The header before the first run; and keys are masked before a run that may tell them."""
        keys = self._keys | set(getattr(engine.provider, "secrets", ()))
        if keys != self._keys or not self._runs:
            self._keys, self._secrets = keys, Secrets(keys)
            self._writer.hide(self._secrets)
        if not self._runs:
            header = _header(engine.provider)
            self._writer.put_wire(header.to_record)

    def _run_record(self, number: int, engine: Engine, session: Session, prompt: str) -> Record:
        after, messages = self._left
        known = after > 0 and messages == session.messages
        return {
            "type": "run",
            "run": number,
            "at": round(self._writer.now(), 4),
            "prompt": prompt,
            "session": session.id,
            **({"after": after} if known else {"history": _plain(session.messages)}),
            "setup": setup_record(engine),
        }


class Listening(Reporter):
    """Puts a run's events on the tape before it passes them on."""

    def __init__(
        self,
        recorder: Recorder,
        number: int,
        session: Session,
        history: Sequence[Message],
        reporter: Reporter,
    ) -> None:
        self._recorder = recorder
        self._number = number
        self._session = session
        self._history = history
        self._reporter = reporter
        self._batch: list[RunEvent] = []

    def on_event(self, event: RunEvent) -> None:
        self._batch.append(event)
        if type(event) is RunFinished:
            self.put_batch()
            self._recorder.ended(self._number, self._history, self._session.messages)
            if failure := self._recorder.take_failure():
                self._reporter.on_event(Notice(failure))
        self._reporter.on_event(event)

    def flush(self) -> None:
        self.put_batch()
        self._reporter.flush()

    def put_batch(self) -> None:
        """Puts on the tape what was told since the last time."""
        if self._batch:
            self._recorder.told(self._number, self._batch)
            self._batch = []

    def on_tick(self, elapsed_s: float, waiting_for: str) -> None:
        self._reporter.on_tick(elapsed_s, waiting_for)

    @property
    def wants_ticks(self) -> bool:
        return self._reporter.wants_ticks


def _tapped(engine: Engine, taps: RunTaps) -> Engine:
    """The same engine, with a tap on whatever comes into a run from outside."""
    tapped = copy(engine)
    tapped.provider = taps.provider(engine.provider)
    tapped.tools = ToolRegistry(taps.tool(tool) for tool in engine.tools)
    tapped.approver = taps.approver(engine.approver)
    if engine.on_repeat is not None:
        tapped.on_repeat = taps.approver(engine.on_repeat, repeat=True)
    if engine.steering is not None:
        tapped.steering = taps.steering(engine.steering)
    return tapped


def _header(provider: Any) -> Header:
    """Of the provider, or of the first that a FallbackProvider asks."""
    choices = getattr(provider, "choices", ())
    asked = choices[0].provider if choices else provider
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    dialect, model = getattr(asked, "dialect", ""), getattr(asked, "model", "")
    return Header(_version(), str(dialect), str(model), created)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("claw-engine")
    except PackageNotFoundError:  # run from a folder, without being installed
        return ""


def _plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


def _common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages both begin with."""
    pairs = zip(before, after, strict=False)
    same = (n for n, (old, new) in enumerate(pairs) if old != new)
    return next(same, min(len(before), len(after)))
