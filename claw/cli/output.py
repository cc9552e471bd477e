"""What `claw run` writes to standard output: text, JSON lines, or one envelope. Nothing else."""

from __future__ import annotations

import os
import select

from claw.cancel import CancelToken
from claw.cli.visible import TerminalFilter
from claw.events import RunEvent, RunFinished, RunResult
from claw.providers.encoding import strict_json
from claw.reporter import Reporter
from claw.wake_pipe import WakePipe

PIECE = 4096  # what a pipe that select calls writable takes without blocking (PIPE_BUF)
PATIENCE_S = 1.0


class StandardOutput:
    """A descriptor that text is written to at once, with no buffer that could be lost.

    While the reader is slow, writing waits. Once `cancel` has fired it waits 1 s more and gives
    up, so that a reader that reads no more can't keep the command alive. Close it at the end.
    failure: what kept it from being written; nothing is written after that.
    """

    def __init__(self, descriptor: int, cancel: CancelToken, encoding: str = "utf-8") -> None:
        self.failure: OSError | None = None
        self._descriptor = descriptor
        self._encoding = encoding
        self._cancel = cancel
        self._wake = WakePipe(cancel)
        self.is_terminal = os.isatty(descriptor)

    def write(self, text: str) -> None:
        """Raises BrokenPipeError, which ends a run, when the text can't be written."""
        data = memoryview(text.encode(self._encoding, "replace"))
        try:
            if self.failure is not None:
                raise self.failure
            while data:
                self._wait_for_room()
                data = data[os.write(self._descriptor, data[:PIECE]) :]
        except OSError as error:
            self.failure = error
            raise BrokenPipeError(error.errno, "standard output can't be written") from error

    def heed(self, cancel: CancelToken) -> None:
        """From now on `cancel` ends a write that waits: a child of the token before."""
        self._wake.close()
        self._cancel, self._wake = cancel, WakePipe(cancel)

    def close(self) -> None:
        """Leaves the descriptor open: it is the process's."""
        self._wake.close()

    def _wait_for_room(self) -> None:
        if not self._cancel.cancelled:
            remaining = self._cancel.remaining()
            _, room, _ = select.select([self._wake], [self._descriptor], [], remaining)
            if room:
                return
        _, room, _ = select.select([], [self._descriptor], [], PATIENCE_S)
        if not room:
            raise TimeoutError("nobody reads it")


class Output(Reporter):
    """The shared part: keeps the run's result as soon as it was told in full."""

    def __init__(self, stdout: StandardOutput) -> None:
        self.stdout = stdout
        self.result: RunResult | None = None

    def on_event(self, event: RunEvent) -> None:
        super().on_event(event)
        if isinstance(event, RunFinished):
            self.flush()
            self.result = event.result


class TextOutput(Output):
    """All assistant text as it streams, a blank line between steps.

    On a terminal it is filtered: the model's text is text, and can't move the cursor.
    """

    def __init__(self, stdout: StandardOutput) -> None:
        super().__init__(stdout)
        self._filter = self._new_filter()
        self._pieces: list[str] = []
        self._written_in_step = False
        self._steps_written = 0
        self._at_line_start = True

    def on_text_delta(self, text: str) -> None:
        if self._filter is not None:
            text = self._filter.feed(text)
        if not text:
            return
        if not self._written_in_step and self._steps_written:
            self._pieces.append("\n")
        self._written_in_step = True
        self._pieces.append(text)
        self._at_line_start = text.endswith("\n")

    def on_text_complete(self, text: str) -> None:
        if not self._written_in_step:  # a provider that doesn't stream
            self.on_text_delta(text)
        self._end_step()

    def on_run_end(self, result: RunResult) -> None:
        self._end_step()

    def flush(self) -> None:
        text, self._pieces = "".join(self._pieces), []
        if text:
            self.stdout.write(text)

    def _end_step(self) -> None:
        """Ends the line, and writes before a line about a tool can get in between."""
        self._filter = self._new_filter()
        if not self._written_in_step:
            return
        if not self._at_line_start:
            self._pieces.append("\n")
        self._written_in_step = False
        self._steps_written += 1
        self.flush()

    def _new_filter(self) -> TerminalFilter | None:
        """One for each step: what a step leaves unfinished doesn't swallow the next one's text."""
        return TerminalFilter() if self.stdout.is_terminal else None


class JSONLinesOutput(Output):
    """One event a line; the last one is `run_finished`."""

    def __init__(self, stdout: StandardOutput) -> None:
        super().__init__(stdout)
        self._lines: list[str] = []

    def on_event(self, event: RunEvent) -> None:
        self._lines.append(strict_json(event.to_dict()) + "\n")
        super().on_event(event)

    def flush(self) -> None:
        lines, self._lines = "".join(self._lines), []
        if lines:
            self.stdout.write(lines)


class EnvelopeOutput(Output):
    """Nothing until the end, then the envelope."""

    def on_run_end(self, result: RunResult) -> None:
        self.stdout.write(strict_json(result.to_dict()) + "\n")


def output_for(mode: str, stdout: StandardOutput) -> Output:
    """The reporter for `--output text|json|jsonl`."""
    kinds = {"text": TextOutput, "json": EnvelopeOutput, "jsonl": JSONLinesOutput}
    return kinds[mode](stdout)
