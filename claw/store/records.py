"""The lines of a session file, version 1: JSON objects in UTF-8, one a line, each with a `type`.

session       the header: version, id, cwd, model, created, title; the first line. A later one
              means that what follows it was written in that version
message       a user's or the model's message, as Message.to_dict() gives it
call_started  the call `id` of the message before it is about to run
call_ended    its result: call_id, content, is_error
results       all calls of the message before it are answered: `ids`, in order. Their contents
              stand in call_ended; an id without one never ran
turn_ended    status, steps, usage, cost and time of a run
compacted     the messages `head` take the place of all but the last `kept`
rewound       all messages behind the first `length` are dropped
cleared       all messages are dropped
told          the damage in the lines above was reported to the user

What was replaced, dropped or cleared stays in the file. Ids of calls count within one message:
servers use them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from claw.errors import HistoryError
from claw.messages import Message, ToolResult

VERSION = 1
LONGEST_LINE = 100_000_000  # twice the longest reply that is read, and tools' results are short

Record: TypeAlias = Mapping[str, Any]

ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
ASCII_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def encoded(record: Record) -> bytes:
    """The record as a line, with its end. HistoryError where that can't be read again: JSON has
    no such value, or the line is too long."""
    try:
        text = ENCODER.encode(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise HistoryError(f"{record['type']}: {error}") from error
    try:
        line = text.encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair: some servers cut one in two
        line = ASCII_ENCODER.encode(record).encode() + b"\n"
    if len(line) > LONGEST_LINE:
        raise HistoryError(f"{record['type']}: {len(line):,} bytes are too many")
    return line


def decoded(line: bytes) -> dict[str, Any]:
    """The record of a line. ValueError for everything that is none."""
    try:
        record = json.loads(line.decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        raise ValueError("no record")
    return record


def message_record(message: Message) -> dict[str, Any]:
    return {"type": "message", **message.to_dict()}


def ended_record(result: ToolResult) -> dict[str, Any]:
    return {**result.to_dict(), "type": "call_ended"}


def results_record(message: Message) -> dict[str, Any]:
    return {"type": "results", "ids": [result.call_id for result in message.tool_results]}
