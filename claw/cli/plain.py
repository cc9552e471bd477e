"""PlainReporter: a run as lines on a terminal or in a log, painted by whoever gives the paint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TextIO

from claw.cli.columns import cut
from claw.cli.failures import CANCEL_WORDS
from claw.cli.style import Paint, plain
from claw.cli.tool_lines import WHOLE, call_line, result_lines
from claw.cli.usage_words import usage_words
from claw.cli.visible import TerminalFilter, shown
from claw.engine.task import TASK
from claw.events import Retrying, RunResult, RunStatus
from claw.messages import ToolCall, ToolResult
from claw.reporter import Reporter

ERASE_LINE = "\r\x1b[K"

ENDINGS = {
    RunStatus.TRUNCATED: "the answer was cut short; `continue` asks for more",
    RunStatus.REFUSED: "the model or its filter refused to answer",
    RunStatus.MAX_STEPS: "stopped: the limit of steps is reached (--max-steps)",
    RunStatus.BUDGET: "stopped: the budget (--budget) is used up; `continue` brings a new one",
    RunStatus.DEADLINE: "stopped: the time is up (--timeout)",
    RunStatus.LOOP: "stopped: the model made the same call three times in a row",
}


class PlainReporter(Reporter):
    """Shows a run on `stream`: tools, notices, how it ended; with `show_text` the answer as well.

    Without `show_text` somebody else writes the answer, maybe to this very terminal: he ends its
    lines, and is told after us, so the waiting indicator is gone by then. live: the indicator may
    be drawn. width: the columns there are now. quiet: only what the user must know is told.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        show_text: bool,
        width: Callable[[], int],
        live: bool = False,
        quiet: bool = False,
        show_reasoning: bool = False,
        paint: Paint = plain,
    ) -> None:
        self._stream = stream
        self._show_text = show_text
        self._width = width
        self._live = live and not quiet
        self._quiet = quiet
        self._show_reasoning = show_reasoning and not quiet
        self._paint = paint
        self._pending: list[str] = []
        self._indicator = ""
        self._next_try_at = 0.0
        self._section = ""
        self._at_line_start = True
        self._streamed = False
        self._last_call: ToolCall | None = None
        self._filter = TerminalFilter()

    @property
    def wants_ticks(self) -> bool:
        return self._live

    def on_run_start(self) -> None:
        self._section, self._at_line_start, self._streamed = "", True, False
        self._pending.clear()

    def on_text_delta(self, text: str) -> None:
        self._streamed = True
        if self._show_text:
            self._stream_text("text", text)
        elif text:
            if self._section == "reasoning":
                self._enter("text")
            self._erase_indicator()
            self._at_line_start = text.endswith("\n")

    def on_text_complete(self, text: str) -> None:
        if not self._streamed:  # a provider that doesn't stream
            self.on_text_delta(text)
        self._streamed = False
        self._filter = TerminalFilter()
        self._end_line()

    def on_reasoning_delta(self, text: str) -> None:
        if self._show_reasoning:
            self._stream_text("reasoning", text)

    def on_tool_call(self, call: ToolCall) -> None:
        self._last_call = call
        self._tool_line(call)

    def on_tool_progress(self, call: ToolCall, text: str) -> None:
        """Of a command the result shows enough. What a sub-agent does is shown as it happens."""
        if call.name == TASK and not self._quiet:
            width = self._width() - 2
            lines = shown(text).rstrip("\n").expandtabs().split("\n")
            self._lines("tools", [self._paint(f"  {cut(line, width)}", "dim") for line in lines])

    def on_tool_result(self, call: ToolCall, result: ToolResult) -> None:
        if self._quiet:
            return
        if self._last_call != call:  # it ran beside others: say whose result this is
            self._tool_line(call)
        self._last_call = None
        width = self._width()
        lines = result_lines(
            result.content,
            width,
            self._paint,
            is_error=result.is_error,
            whole=call.name in WHOLE,
        )
        self._lines("tools", lines)

    def on_notice(self, text: str) -> None:
        self._lines("notices", [self._paint(f"note: {shown(text)}", "notice")])

    def on_retrying(self, event: Retrying) -> None:
        super().on_retrying(event)
        self._next_try_at = time.monotonic() + event.wait_s

    def on_run_end(self, result: RunResult) -> None:
        self._end_line()
        ending = ending_words(result)
        if result.partial_text:
            unfinished = "the unfinished text above isn't part of the conversation"
            ending = f"{ending}: {unfinished}" if ending else unfinished
        if ending:
            self._lines("end", [self._paint(f"[{ending}]", "notice")])
        if result.steps and not result.error and not self._quiet:
            self._lines("end", [self._paint(f"[{usage_words(result)}]", "dim")])

    def on_tick(self, elapsed_s: float, waiting_for: str) -> None:
        if not self._at_line_start or self._pending:
            return
        to_wait = self._next_try_at - time.monotonic()
        if to_wait > 0:
            words = f"trying again in {math.ceil(to_wait)} s (Ctrl-C ends the turn)"
        else:
            words = f"waiting for {shown(waiting_for)}, {int(elapsed_s)} s"
        words = cut(words, self._width() - 1)
        if words != self._indicator:
            self._write(ERASE_LINE + self._paint(words, "dim"))
            self._indicator = words

    def flush(self) -> None:
        text, self._pending = "".join(self._pending), []
        if text:
            self._erase_indicator()
            self._write(text)

    def _tool_line(self, call: ToolCall) -> None:
        if not self._quiet:
            line = "* " + call_line(call, self._width() - 2)
            self._lines("tools", [self._paint(line, "tool")])

    def _stream_text(self, section: str, text: str) -> None:
        """A piece of the answer or of the thinking; what begins either begins with its words."""
        if section != self._section:
            text = text.lstrip("\n")
        if not text:
            return
        self._enter(section)
        text = self._filter.feed(text)
        if text:
            self._pending.append(self._paint(text, "dim") if section == "reasoning" else text)
            self._at_line_start = text.endswith("\n")

    def _enter(self, section: str) -> None:
        """Ends a line that was begun; a blank line sets off what is of another kind."""
        if section == self._section:
            return
        self._end_line()
        if self._section:
            self._pending.append("\n")
        self._section = section
        self._filter = TerminalFilter()

    def _lines(self, section: str, lines: list[str]) -> None:
        self._enter(section)
        self._pending += [f"{line}\n" for line in lines]

    def _end_line(self) -> None:
        ours = self._show_text or self._section == "reasoning"
        if ours and not self._at_line_start:
            self._pending.append("\n")
        self._at_line_start = True

    def _erase_indicator(self) -> None:
        if self._indicator:
            self._indicator = ""
            self._write(ERASE_LINE)

    def _write(self, text: str) -> None:
        """At once. A character that the terminal's encoding lacks becomes a question mark."""
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        self._stream.flush()


def ending_words(result: RunResult) -> str:
    """Why a run didn't simply complete. An error is raised to its caller, and told there."""
    if result.status is RunStatus.CANCELLED:
        return CANCEL_WORDS.get(result.cancel_reason or "", "cancelled")
    return ENDINGS.get(result.status, "")
