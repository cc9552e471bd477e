"""What differs between a run on a tape and the same run played again: the first thing, in words.

Times aren't compared, nor what the prices made of the tokens, nor the notices that a run begins or
ends with: these are about the session's file.
Live output counts by its text alone: how it is cut depends on the moment. An id that claw itself
gave a call counts as the one that it has on the tape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from claw.events import (
    Notice,
    Retrying,
    RunEvent,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolProgress,
)
from claw.messages import Message
from claw.tape.tape import TapedRun

SHOWN = 120  # characters of a value
BEFORE = 30  # of them before the first that differs
MADE_ID = re.compile(r"c[0-9a-f]{8}")  # see providers/draft.py


def difference(run: TapedRun, events: Sequence[RunEvent], messages: Sequence[Message]) -> str:
    """The first difference between `run` and what came of playing it, on three lines; "" where
    there is none. Of a run that the tape doesn't hold to its end the beginning is compared."""
    nested = {tool["name"] for tool in run.setup.tools if tool.get("nesting")}
    silent = run.cut_short  # how much was told by then depends on the moment
    taped = normal(run.events, nested, silent=silent)
    replayed = normal(events, nested, silent=silent)
    if not run.whole:
        replayed = replayed[: len(taped)]
    ids: dict[str, str] = {}
    for index, (old, new) in enumerate(zip(taped, replayed, strict=False), 1):
        if found := _differing(old, new, "", ids):
            return _words(f"run {run.number}, event {index} ({old['type']})", *found)
    if len(taped) != len(replayed):
        index = min(len(taped), len(replayed))
        sides = [json.dumps(side[index : index + 1])[1:-1] for side in (taped, replayed)]
        return _words(f"run {run.number}, event {index + 1}", "", *(s or "none" for s in sides))
    if run.messages is None:
        return ""
    left = [message.to_dict() for message in run.messages]
    for index, (old, new) in enumerate(_paired(left, _dicts(messages[run.kept :])), run.kept + 1):
        if found := _differing(_json(old), _json(new), "", ids):
            return _words(f"run {run.number}, message {index} of the conversation", *found)
    return ""


def normal(
    events: Iterable[RunEvent], nested: Iterable[str], *, silent: bool = False
) -> list[dict[str, Any]]:
    """The events as JSON, without what may differ. silent: without live output."""
    found: list[dict[str, Any]] = []
    notices: list[dict[str, Any]] = []
    shown: dict[str, str] = {}
    unknown = set(nested)  # calls, and tools, whose live output can't be compared
    for event in events:
        if isinstance(event, ToolProgress):
            shown[event.call.id] = shown.get(event.call.id, "") + event.text
            if event.dropped:
                unknown.add(event.call.id)
            continue
        if isinstance(event, Notice):
            if not found or found[-1]["type"] != RunStarted.type:  # else of the session
                notices.append(event.to_dict())
            continue
        data = event.to_dict()
        if isinstance(event, RunFinished):
            notices.clear()  # of the session, too
            data |= {"duration_s": 0, "cost": None}
        if isinstance(event, Retrying):
            data["wait_s"] = 0
        if isinstance(event, ToolFinished):
            data["duration_s"] = 0
            text = shown.pop(event.call.id, "")
            if text and not silent and not unknown & {event.call.id, event.call.name}:
                data["shown"] = text
        found += [*notices, data]
        notices = []
    return [_json(each) for each in [*found, *notices]]


def _differing(old: Any, new: Any, path: str, ids: dict[str, str]) -> tuple[str, str, str] | None:
    """(where, what is there on the tape, what in the replay), or None."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            inner = _differing(old.get(name), new.get(name), f"{path}.{name}".lstrip("."), ids)
            if inner:
                return inner
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        inners = (_differing(a, b, f"{path}[{n}]", ids) for n, (a, b) in pairs)
        return next(filter(None, inners), None)
    if old == new or (isinstance(old, str) and isinstance(new, str) and _same_id(old, new, ids)):
        return None
    return path, _cut(old, new), _cut(new, old)


def _same_id(old: str, new: str, ids: dict[str, str]) -> bool:
    made = MADE_ID.fullmatch(old) and MADE_ID.fullmatch(new)
    return bool(made) and ids.setdefault(old, new) == new


def _cut(value: Any, other: Any) -> str:
    """`value` from shortly before it differs from the other one."""
    text, beside = (json.dumps(each, ensure_ascii=False) for each in (value, other))
    pairs = zip(text, beside, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(text), len(beside)))
    start = max(0, same - BEFORE)
    part = text[start : start + SHOWN]
    return f"{'...' if start else ''}{part}{'...' if len(text) > start + SHOWN else ''}"


def _words(where: str, path: str, old: str, new: str) -> str:
    place = f"{where}: {path}" if path else where
    return f"{place}\n  tape:   {old[:200]}\n  replay: {new[:200]}"


def _paired(old: list[Any], new: list[Any]) -> Iterable[tuple[Any, Any]]:
    length = max(len(old), len(new))
    none = [None] * length
    return zip((old + none)[:length], (new + none)[:length], strict=True)


def _dicts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


def _json(value: Any) -> Any:
    return json.loads(json.dumps(value))
