"""Work: one approved call while it runs, on its `claw-tool` thread or on the caller's."""

from __future__ import annotations

import contextvars
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any

from claw.errors import Cancelled, ToolError
from claw.log import log
from claw.messages import ToolCall, ToolResult
from claw.session import NOT_RUN
from claw.tools.base import Tool, ToolContext, ToolOutput

LIVE_OUTPUT_CHARS = 64_000


class BoundedText:
    """The newest `limit` characters of a text that grows; counts what it dropped."""

    def __init__(self, limit: int = LIVE_OUTPUT_CHARS) -> None:
        self._limit = limit
        self._pieces: deque[str] = deque()
        self._size = 0
        self._dropped = 0

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text)
        while self._size > self._limit:
            oldest, excess = self._pieces.popleft(), self._size - self._limit
            if len(oldest) > excess:
                self._pieces.appendleft(oldest[excess:])
            cut = min(len(oldest), excess)
            self._dropped += cut
            self._size -= cut

    def take(self) -> tuple[str, int]:
        """(what is there, characters dropped before it); leaves it empty."""
        taken = "".join(self._pieces), self._dropped
        self._pieces.clear()
        self._size = self._dropped = 0
        return taken


class LiveOutput:
    """`ToolContext.output`: never blocks the tool, whatever the reporter does.

    `announce` is called, outside the lock, when there is something to take after there was nothing.
    """

    def __init__(self, announce: Callable[[], object] = lambda: None) -> None:
        self._announce = announce
        self._lock = Lock()
        self._untold = BoundedText()
        self._so_far = BoundedText()
        self._announced = False

    def write(self, text: str) -> None:
        with self._lock:
            self._untold.add(text)
            self._so_far.add(text)
            first, self._announced = not self._announced, True
        if first:
            self._announce()

    def take(self) -> tuple[str, int]:
        """What the reporter hasn't been told, and how many characters were dropped before it."""
        with self._lock:
            self._announced = False
            return self._untold.take()

    def so_far(self) -> str:
        """All output as far as it is kept; for the result of an interrupted call."""
        with self._lock:
            return self._so_far.take()[0]


@dataclass(eq=False)
class Work:
    """One call on its way from the model to its result.

    Touched by the engine's thread, but for `result`, `duration_s` and `details`, which the
    thread that runs the call sets. ended: the engine has heard of the result; told: so has the
    reporter.
    """

    call: ToolCall
    tool: Tool | None = None
    result: ToolResult | None = None
    output: LiveOutput = field(default_factory=LiveOutput)
    duration_s: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
    ended: bool = False
    told: bool = False
    _thread: Thread | None = None

    def refuse(self, words: str) -> None:
        """The call is not run; `words` tell the model why."""
        self.result = self.failure(words)

    def start(self, context: ToolContext, done: Callable[[], object]) -> None:
        """Runs the call in a copy of the caller's context variables, on a thread of its own
        unless the tool wants this one."""
        assert self.tool is not None
        if self.tool.caller_thread:
            self._work(context, done)
            return
        copied = contextvars.copy_context()
        self._thread = Thread(
            target=copied.run, args=(self._work, context, done), name="claw-tool", daemon=True
        )
        self._thread.start()

    def settle(self, end: float) -> ToolResult:
        """The result after a cancel: waits for the tool until `end` (monotonic seconds)."""
        if self._thread is None:
            return self.result or self.failure(NOT_RUN)
        self._thread.join(max(0.0, end - time.monotonic()))
        return self.result or self._interrupted("interrupted, may still be running")

    def failure(self, words: str) -> ToolResult:
        """An is_error result for this call."""
        return ToolResult(self.call.id, words, is_error=True)

    def _work(self, context: ToolContext, done: Callable[[], object]) -> None:
        started = time.monotonic()
        try:
            self.result = self._outcome(context)
        except BaseException:  # a KeyboardInterrupt; on a thread of its own nobody is to hear it
            self.result = self._interrupted("interrupted")
            if self._thread is None:
                raise
        finally:
            self.duration_s = time.monotonic() - started
            done()

    def _outcome(self, context: ToolContext) -> ToolResult:
        assert self.tool is not None
        try:
            output = self.tool.run(self.call.arguments, context)
        except ToolError as error:
            return self.failure(error.message)
        except Cancelled:
            return self._interrupted("interrupted")
        except (Exception, SystemExit) as error:
            log().debug("the tool %s raised", self.call.name, exc_info=True)
            return self.failure(f"the tool itself failed: {type(error).__name__}: {error}")
        if isinstance(output, ToolOutput):
            self.details = output.details
            return ToolResult(self.call.id, output.content, output.is_error)
        return ToolResult(self.call.id, output)

    def _interrupted(self, words: str) -> ToolResult:
        so_far = self.output.so_far()
        return self.failure(f"{words}; output so far:\n{so_far}" if so_far else words)
