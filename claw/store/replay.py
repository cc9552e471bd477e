"""Reads a session file line by line: a line that can't be read costs that line alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeAlias, get_args

from claw.errors import ClawError, ConfigError
from claw.messages import (
    Message,
    ReasoningBlock,
    Role,
    TextBlock,
    ToolCall,
    ToolResult,
    Usage,
)
from claw.results import Totals
from claw.session import NOT_RUN, UNKNOWN_OUTCOME, Session, orphan_results, unanswered_calls
from claw.store.records import LONGEST_LINE, VERSION, Record, decoded

ROLES = tuple(role for role in get_args(Role) if role != "tool")
TOLD_LINES = 5

Upgrade: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: Mapping[int, Upgrade] = {}
"""From a version to the next: what makes a record of the older one a record of the newer. Version
1 is the first, so there is none yet."""


@dataclass
class Replayed:
    """What a session file tells. `session` is whole: calls left open were answered, `closed` says
    how. damage: lines that couldn't be read since that was last told, the first few by number.
    ends_whole: the last line has its end."""

    session: Session = field(default_factory=Session)
    totals: Totals = field(default_factory=Totals)
    version: int = VERSION
    closed: tuple[ToolResult, ...] = ()
    damage: int = 0
    damaged_lines: list[int] = field(default_factory=list)
    cut_off: bool = False
    ends_whole: bool = True

    def notices(self) -> list[str]:
        """A line for each thing the user should know."""
        found = []
        foreign = self.damage - self.cut_off
        if foreign:
            first = [str(number) for number in self.damaged_lines[:TOLD_LINES]]
            listed = ", ".join([*first, *(["..."] if foreign > len(first) else [])])
            lines = "1 line" if foreign == 1 else f"{foreign} lines"
            found.append(f"{lines} of the session file can't be read and count no more: {listed}")
        if self.cut_off:
            found.append("the session file's last record was cut off in the middle: it is left out")
        if self.closed:
            answers = ", ".join(map(_told_of, self.closed))
            found.append(f"the last turn was cut off; its calls were closed: {answers}")
        return found


def _told_of(result: ToolResult) -> str:
    """A call and how far it came, on one line."""
    ended = {UNKNOWN_OUTCOME: "unknown outcome", NOT_RUN: "not run"}.get(result.content, "ended")
    return f"{' '.join(result.call_id.split())} ({ended})"


def replay(file: BinaryIO, upgrades: Mapping[int, Upgrade] = UPGRADES) -> Replayed:
    """Reads to the end of `file`, in memory for one line beyond the messages.

    ConfigError: a newer claw wrote it. Everything else that is wrong costs its own line.
    """
    replayed = Replayed()
    for number, line in enumerate(_lines(file), 1):
        replayed.cut_off, replayed.ends_whole = False, line is not None and line.endswith(b"\n")
        if line is None or line.strip(b" \t\r\n"):
            _read(line, number, replayed, upgrades)
    replayed.closed = replayed.session.close_open_calls()
    return replayed


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Each line with its end; None for one that no record can be as long as."""
    while line := file.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None


def _read(
    line: bytes | None, number: int, replayed: Replayed, upgrades: Mapping[int, Upgrade]
) -> None:
    try:
        record = decoded(line or b"")
        if record["type"] == "session":
            replayed.version = _known_version(record, upgrades)
            return
        for version in range(replayed.version, VERSION):
            record = upgrades[version](record)
        APPLY[record["type"]](replayed, record)
    except ConfigError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, ClawError):
        replayed.damage += 1
        replayed.cut_off = not replayed.ends_whole
        if not replayed.cut_off and len(replayed.damaged_lines) < TOLD_LINES:
            replayed.damaged_lines.append(number)


def _known_version(record: Record, upgrades: Mapping[int, Upgrade]) -> int:
    """The version that the lines from here on are written in."""
    version = record["version"]
    if not isinstance(version, int):
        raise ValueError("no version")
    if version > VERSION:
        raise ConfigError(
            f"this session was written by a newer claw (format {version}, this one reads "
            f"{VERSION}): update claw, or begin a new session"
        )
    if any(each not in upgrades for each in range(version, VERSION)):
        raise ValueError(f"there was never a version {version}")
    return version


# --- the records --------------------------------------------------------------------------------


def _message(replayed: Replayed, record: Record) -> None:
    message = checked_message(record)
    if message.role not in ROLES or unanswered_calls([message], open_end=True):
        raise ValueError("no message that may stand here")
    if orphan_results([message]):
        raise ValueError("a result outside of a tool message")
    replayed.session.close_open_calls()
    replayed.session.append(message)


def _call_started(replayed: Replayed, record: Record) -> None:
    replayed.session.call_started(_call(record["id"]))


def _call_ended(replayed: Replayed, record: Record) -> None:
    result = ToolResult(record["call_id"], record["content"], record.get("is_error", False))
    _check_texts(result, "content")
    replayed.session.call_ended(_call(result.call_id), result)


def _call(call_id: Any) -> ToolCall:
    """A call with that id: the journal of calls looks at nothing else."""
    if not isinstance(call_id, str):
        raise ValueError("no id")
    return ToolCall(call_id, "")


def _results(replayed: Replayed, record: Record) -> None:
    replayed.session.close_open_calls()


def _turn_ended(replayed: Replayed, record: Record) -> None:
    usage = Usage(**record["usage"])
    if not all(isinstance(count, int) for count in usage.to_dict().values()):
        raise ValueError("no usage")
    cost = record.get("cost")
    known = isinstance(cost, (int, float)) and cost >= 0
    replayed.totals = replayed.totals.plus(usage, cost if known else None)


def _compacted(replayed: Replayed, record: Record) -> None:
    head = [checked_message(each) for each in record["head"]]
    replayed.session.compact(head, kept=_count(record["kept"]))


def _rewound(replayed: Replayed, record: Record) -> None:
    replayed.session.rewind(_count(record["length"]))


def _cleared(replayed: Replayed, record: Record) -> None:
    replayed.session.clear()


def _told(replayed: Replayed, record: Record) -> None:
    replayed.damage = 0
    replayed.damaged_lines.clear()


APPLY: Mapping[str, Callable[[Replayed, Record], None]] = {
    "message": _message,
    "call_started": _call_started,
    "call_ended": _call_ended,
    "results": _results,
    "turn_ended": _turn_ended,
    "compacted": _compacted,
    "rewound": _rewound,
    "cleared": _cleared,
    "told": _told,
}


# --- what was written by hand may have any shape ------------------------------------------------


def checked_message(data: Mapping[str, Any]) -> Message:
    """The message of `data`, its texts being texts. ValueError and its like where it is none."""
    message = Message.from_dict(data)
    if message.role not in get_args(Role) or (message.role == "tool" and not message.blocks):
        raise ValueError("no message of anybody")
    for block in message.blocks:
        if isinstance(block, TextBlock | ReasoningBlock):
            _check_texts(block, "text")
        elif isinstance(block, ToolCall):
            _check_texts(block, "id", "name", "raw")
            if not isinstance(block.arguments, dict):
                raise ValueError("no arguments")
        elif isinstance(block, ToolResult):
            _check_texts(block, "call_id", "content")
    return message


def _check_texts(value: object, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(value, name), str):
            raise ValueError(f"{name} is no text")


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError("no count")
    return value
