"""Session: a conversation that can always be sent.

Two invariants hold after every append, each a named function below: every ToolCall is answered by
exactly one ToolResult in the next message, in order; every ToolResult has its call. A history
that breaks them is refused by servers for ever after, so `append` raises, and loading repairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from threading import Lock
from typing import Any, Protocol

from claw.errors import HistoryError
from claw.messages import Block, Message, ToolCall, ToolResult
from claw.results import RunResult, Totals

UNKNOWN_OUTCOME = "unknown outcome: interrupted while it ran"
NOT_RUN = "not run: the turn was cancelled"


class RunRecord(Protocol):
    """What a Session knows of the run it is in."""

    @property
    def over(self) -> bool: ...


class Session:
    """A history in memory, and what the tools of its calls remember. In one run at a time.

    `messages`: an earlier history; one that breaks the invariants is repaired, and `notices` says
    how (the next run tells them). `id`: what names it where it is kept; None: it isn't. `totals`:
    what its runs took so far. As a context manager it closes itself.
    """

    id: str | None = None

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        repaired, self.notices = repair(list(messages))
        self.totals = Totals()
        self._messages = repaired
        self._started: set[str] = set()
        self._ended: dict[str, ToolResult] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self._run: RunRecord | None = None
        self._claiming = Lock()

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The last message's calls, as long as they have no results."""
        return self._messages[-1].tool_calls if self._messages else ()

    def append(self, message: Message) -> None:
        """Adds `message`, or raises HistoryError and adds nothing."""
        last = self._messages[-1:]
        tail = [*(last if self.open_calls else ()), message]
        problems = unanswered_calls(tail, open_end=True) + orphan_results(tail)
        if problems:
            raise HistoryError(problems[0])
        self._messages.append(message)
        self._started.clear()
        self._ended.clear()

    def call_started(self, call: ToolCall) -> None:
        """Told by the engine right before a call runs: the journal that survives a crash."""
        self._started.add(call.id)

    def call_ended(self, call: ToolCall, result: ToolResult) -> None:
        """Told by the engine as soon as a call has its result."""
        self._ended[call.id] = result

    def close_open_calls(self) -> tuple[ToolResult, ...]:
        """Answers the open calls as far as they are known to have come, and returns the answers."""
        results = tuple(self._ended.get(call.id) or self._made_up(call) for call in self.open_calls)
        if results:
            self.append(Message.tool(*results))
        return results

    def state(self, family: str) -> dict[str, Any]:
        """What a family of tools remembers here. A value with a `close()` is closed with us; a
        `look()` is called at the end of each run, on the engine's thread, and must not raise."""
        return self._states.setdefault(family, {})

    def run_ended(self, result: RunResult) -> list[str]:
        """Told by the engine at the end of each run, on its thread, before the session is free
        for the next one. Returns lines for the user. Contract: doesn't raise."""
        self.totals = self.totals.plus(result.usage, result.cost)
        for state in list(self._states.values()):
            for value in list(state.values()):
                if hasattr(value, "look"):
                    value.look()
        return []

    def compact(self, head: Sequence[Message], *, kept: int) -> None:
        """Puts `head` in the place of all messages but the last `kept`. HistoryError, and nothing
        is changed, where a call would lose its result, or there aren't so many messages."""
        self._become([*head, *self._messages[self._checked(len(self._messages) - kept) :]])

    def rewind(self, length: int) -> None:
        """Drops the messages behind the first `length`; HistoryError as in `compact`."""
        self._become(self._messages[: self._checked(length)])

    def clear(self) -> None:
        """Forgets the conversation; what the tools remember is closed and forgotten too."""
        self._become([])
        self._close_states()

    def close(self) -> None:
        """Ends jobs and sweeps what the calls left running. The history stays readable."""
        self._close_states()

    def _checked(self, length: int) -> int:
        if not 0 <= length <= len(self._messages):
            raise HistoryError(f"there are {len(self._messages)} messages in this session")
        return length

    def _become(self, messages: list[Message]) -> None:
        problems = unanswered_calls(messages) + orphan_results(messages)
        if problems:
            raise HistoryError(problems[0])
        self._messages = messages
        self._started.clear()
        self._ended.clear()

    def _close_states(self) -> None:
        states, self._states = self._states, {}
        with ExitStack() as stack:
            for state in states.values():
                for value in state.values():
                    if hasattr(value, "close"):
                        stack.callback(value.close)

    def enter_run(self, run: RunRecord) -> None:
        """Claims the session for `run`; HistoryError while another run is still going."""
        with self._claiming:
            if self._run is not None and not self._run.over:
                raise HistoryError("this session is in a run already: one run at a time")
            self._run = run

    def mend(self) -> list[str]:
        """At a run's start: answers the calls that an abandoned run left open. Returns a line for
        each thing that was mended, here or when the history was loaded."""
        notices = self.take_notices()
        answered = self.close_open_calls()
        if answered:
            ids = ", ".join(result.call_id for result in answered)
            notices.append(f"an earlier turn was cut off; these calls were closed: {ids}")
        return notices

    def take_notices(self) -> list[str]:
        """The lines that the user hasn't been told yet."""
        notices, self.notices = self.notices, []
        return notices

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def _made_up(self, call: ToolCall) -> ToolResult:
        words = UNKNOWN_OUTCOME if call.id in self._started else NOT_RUN
        return ToolResult(call.id, words, is_error=True)


def unanswered_calls(messages: Sequence[Message], *, open_end: bool = False) -> list[str]:
    """The first invariant: every call has exactly one result in the next message, in order.

    Returns what breaks it, in words with the ids. With `open_end` the last message may have calls
    that are still to be answered.
    """
    problems = []
    for index, message in enumerate(messages):
        asked = [call.id for call in message.tool_calls]
        if len(set(asked)) < len(asked):
            problems.append(f"two calls of one message share an id: {', '.join(asked)}")
        if not asked or (open_end and index == len(messages) - 1):
            continue
        following = messages[index + 1] if index + 1 < len(messages) else None
        answered = [r.call_id for r in _answers(following)]
        if answered != asked:
            problems.append(
                f"calls {', '.join(asked)} must be answered by the next message, in order; "
                f"it answers {', '.join(answered) or 'none'}"
            )
    return problems


def orphan_results(messages: Sequence[Message]) -> list[str]:
    """The second invariant: every result stands in a tool message, right behind its call's.
    Returns problems."""
    problems = []
    for index, message in enumerate(messages):
        before = messages[index - 1].tool_calls if index and message.role == "tool" else ()
        asked = {call.id for call in before}
        orphans = [r.call_id for r in message.tool_results if r.call_id not in asked]
        if orphans:
            problems.append(f"results without a call before them: {', '.join(orphans)}")
    return problems


def repair(messages: Sequence[Message]) -> tuple[list[Message], list[str]]:
    """The history with both invariants restored, and a line for each thing that was mended."""
    mended: list[Message] = []
    notices: list[str] = []
    for index, whole in enumerate(messages):
        if whole.role == "tool":
            continue  # its results are put behind their calls, below
        message = _without_misplaced(whole)
        mended.append(message)
        if not message.tool_calls:
            continue
        following = messages[index + 1] if index + 1 < len(messages) else None
        found = {result.call_id: result for result in _answers(following)}
        missing = [call.id for call in message.tool_calls if call.id not in found]
        if missing:
            notices.append(f"these calls were interrupted, outcome unknown: {', '.join(missing)}")
        answers = (found.get(c.id) or _unknown(c.id) for c in message.tool_calls)
        mended.append(Message.tool(*answers))
    lost = sorted(_result_ids(messages) - _result_ids(mended))
    if lost:
        notices.append(f"these results had no call before them and were dropped: {', '.join(lost)}")
    if not notices and mended != [m for m in messages if m.role != "tool" or m.tool_results]:
        notices.append("calls and results of the history were put in order")
    return mended, notices


def _answers(message: Message | None) -> tuple[ToolResult, ...]:
    return message.tool_results if message is not None and message.role == "tool" else ()


def _without_misplaced(message: Message) -> Message:
    """Without results, which only a tool message may have, and without a call's second twin."""
    kept: list[Block] = []
    ids: set[str] = set()
    for block in message.blocks:
        twin = isinstance(block, ToolCall) and block.id in ids
        if not twin and not isinstance(block, ToolResult):
            kept.append(block)
        if isinstance(block, ToolCall):
            ids.add(block.id)
    return message if len(kept) == len(message.blocks) else replace(message, blocks=tuple(kept))


def _result_ids(messages: Sequence[Message]) -> set[str]:
    return {result.call_id for message in messages for result in message.tool_results}


def _unknown(call_id: str) -> ToolResult:
    return ToolResult(call_id, UNKNOWN_OUTCOME, is_error=True)
