"""read_tape: a tape as values. A line that can't be read costs that line alone, and is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from claw.approval import Decision
from claw.errors import Cancelled, ClawError, ConfigError, ToolError
from claw.events import (
    Event,
    Notice,
    ReasoningDelta,
    Retrying,
    RunEvent,
    RunFinished,
    RunStatus,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    ToolStarted,
)
from claw.messages import Message
from claw.providers.quirks import Quirks
from claw.store.header import open_plain
from claw.store.records import LONGEST_LINE, Record, decoded
from claw.tape.format import VERSION, Header
from claw.tape.setup import read_setup
from claw.tape.tape import Answer, Exchange, Step, Tape, TapedCall, TapedRun
from claw.tools.base import ToolOutput

DELTAS = (TextDelta, ReasoningDelta, ToolCallStart, ToolCallDelta, Retrying)


def read_tape(path: Path) -> Tape:
    """Reads the tape at `path`. ConfigError: it can't be read, is none, or is of another format."""
    try:
        with open_plain(path) as file:
            tape = Tape(_header(file.readline(LONGEST_LINE), path))
            for line in _lines(file):
                if line.strip() and not _read(tape, line):
                    tape.damage += 1
                    tape.cut_off = not line.endswith(b"\n")
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror or error}") from error
    for run in tape.runs.values():
        _mark_cut(run)
    return tape


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE):
        yield line


def _header(line: bytes, path: Path) -> Header:
    try:
        record = decoded(line)
    except ValueError:
        record = {}
    version = record.get("version")
    if record.get("type") != "tape" or type(version) is not int:
        raise ConfigError(f"{path} is no tape: `--trace FILE` records one")
    if version != VERSION:
        raise ConfigError(
            f"{path} was recorded by another claw (format {version}, this one reads {VERSION}): "
            f"{'update claw' if version > VERSION else 'record it anew'}"
        )
    return Header.from_record(record)


def _read(tape: Tape, line: bytes) -> bool:
    """Whether it could be read."""
    try:
        record = decoded(line)
        if record["type"] == "run":
            run = _run(record)
            tape.runs[run.number] = run
        else:
            READ[record["type"]](tape.runs[record["run"]], record)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, ClawError):
        return False
    return True


def _run(record: Record) -> TapedRun:
    return TapedRun(
        number=int(record["run"]),
        prompt=_text(record["prompt"]),
        session=None if record["session"] is None else _text(record["session"]),
        setup=read_setup(record["setup"]),
        history=_messages(record.get("history", ())),
        after=int(record.get("after", 0)),
    )


def _request(run: TapedRun, record: Record) -> None:
    exchange = Exchange(
        dialect=_text(record["dialect"]),
        model=_text(record["model"]),
        url=_text(record["url"]),
        quirks=Quirks(**record["quirks"]),
        max_reply_bytes=int(record["max_reply_bytes"]),
        body=_text(record["body"]),
        at=float(record["at"]),
    )
    run.steps.setdefault(int(record["step"]), Step()).parts.append(exchange)


def _answer(run: TapedRun, record: Record) -> None:
    exchange = _exchange(run, record)
    headers = {_text(name): _text(value) for name, value in record["headers"].items()}
    exchange.status, exchange.headers = int(record["status"]), headers


def _bytes(run: TapedRun, record: Record) -> None:
    texts = [text.encode("latin-1") for text in record["data"]]
    times = [float(at) for at in record["at"]]
    _exchange(run, record).pieces += zip(times, texts, strict=True)


def _end(run: TapedRun, record: Record) -> None:
    exchange, error = _exchange(run, record), record["error"]
    exchange.error = None if error is None else ClawError.from_dict(error)
    exchange.ended = True


def _retrying(run: TapedRun, record: Record) -> None:
    error = ClawError.from_dict(record["error"])
    wait, remedy = float(record["wait_s"]), _text(record["remedy"])
    event = Retrying(int(record["attempt"]), wait, error, remedy)
    run.steps[record["step"]].parts.append(event)


def _reply_event(run: TapedRun, record: Record) -> None:
    step = run.steps.setdefault(int(record["step"]), Step())
    step.parts.append(Event.from_dict(record["event"]))  # type: ignore[arg-type]  # a provider's


def _deltas(run: TapedRun, record: Record) -> None:
    kind = record["kind"]
    texts = [_text(text) for text in record["texts"]]
    events: list[RunEvent]
    if kind == ToolCallDelta.type:
        events = [ToolCallDelta(int(record["index"]), text) for text in texts]
    elif kind == TextDelta.type:
        events = [TextDelta(text) for text in texts]
    elif kind == ReasoningDelta.type:
        events = [ReasoningDelta(text) for text in texts]
    else:
        raise ValueError("no such delta")
    _told(run, events, float(record["at"]))


def _event(run: TapedRun, record: Record) -> None:
    _told(run, [Event.from_dict(record["event"])], float(record["at"]))  # type: ignore[list-item]


def _told(run: TapedRun, events: Sequence[RunEvent], at: float) -> None:
    run.events += events
    run.times += [at] * len(events)


def _asked(run: TapedRun, record: Record) -> None:
    outcome: Decision | ToolError | Cancelled
    if record.get("cancelled"):
        outcome = Cancelled()
    elif "refused" in record:
        outcome = ToolError(_text(record["refused"]))
    else:
        answer = record["answer"]
        end = RunStatus(answer["end"]) if "end" in answer else None
        outcome = Decision(bool(answer["allowed"]), _text(answer["reason"]), end)
    run.answers.append(Answer(_text(record["id"]), bool(record["repeat"]), outcome))


def _call_started(run: TapedRun, record: Record) -> None:
    run.calls.append(TapedCall(_text(record["id"]), _text(record["name"])))


def _call_left(run: TapedRun, record: Record) -> None:
    index = _running(run, record)
    run.calls[index] = replace(run.calls[index], shown=_text(record["shown"]))


def _running(run: TapedRun, record: Record) -> int:
    """Which call it is: ids are used again."""
    calls = enumerate(run.calls)
    return max(n for n, call in calls if call.id == record["id"] and not call.ended)


def _call(run: TapedRun, record: Record) -> None:
    index = _running(run, record)
    output, raised = _outcome(record)
    run.calls[index] = replace(
        run.calls[index],
        ended=True,
        seconds=float(record["seconds"]),
        output=output,
        raised=raised,
        late=bool(record["cancelled"]),
        shown=_text(record["shown"]),
    )


def _outcome(record: Record) -> tuple[ToolOutput | None, Exception | None]:
    if "output" in record:
        given = record["output"]
        details = dict(given.get("details", {}))
        return ToolOutput(_text(given["content"]), bool(given["is_error"]), details), None
    if "failed" in record:
        return None, ToolError(_text(record["failed"]))
    if "raised" in record:
        name, words = _text(record["raised"]["name"]), _text(record["raised"]["words"])
        return None, type(name, (Exception,), {})(words)
    return None, Cancelled()


def _steering(run: TapedRun, record: Record) -> None:
    run.steering.append([_text(line) for line in record["lines"]])


def _run_ended(run: TapedRun, record: Record) -> None:
    run.kept, run.messages = int(record["kept"]), _messages(record["messages"])


READ: Mapping[str, Callable[[TapedRun, Record], None]] = {
    "request": _request,
    "answer": _answer,
    "bytes": _bytes,
    "end": _end,
    "retrying": _retrying,
    "reply_event": _reply_event,
    "deltas": _deltas,
    "event": _event,
    "asked": _asked,
    "call_started": _call_started,
    "call": _call,
    "call_left": _call_left,
    "steering": _steering,
    "run_ended": _run_ended,
}


def _mark_cut(run: TapedRun) -> None:
    """Finds the step in which the run was cancelled, or the tape ends."""
    if not run.cut_short or not run.steps:
        return
    step = run.steps[max(run.steps)]
    told = list(run.events)
    while told and isinstance(told[-1], RunFinished | Notice):
        told.pop()
    last = next((n for n, e in enumerate(reversed(told)) if not isinstance(e, DELTAS)), len(told))
    open_end = step.last is not None and not step.last.ended
    if open_end or last:
        in_a_task = last < len(told) and isinstance(told[-last - 1], ToolStarted)
        step.cut, step.told = True, None if in_a_task else last


def _exchange(run: TapedRun, record: Record) -> Exchange:
    found = run.steps[record["step"]].last
    if found is None:
        raise ValueError("nothing was asked")
    return found


def _messages(records: Sequence[Record]) -> list[Message]:
    return [Message.from_dict(record) for record in records]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value
