"""What came into a run from inside: tools, approvers and words that answer from the tape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event, Lock

from claw.approval import Approver, Decision
from claw.cancel import CancelToken
from claw.errors import Cancelled, ToolError
from claw.messages import ToolCall
from claw.tape.provider import PATIENCE_S
from claw.tape.reader import read_tape
from claw.tape.setup import tools_of
from claw.tape.tape import Answer, Tape, TapedCall, TapedRun
from claw.tools.base import Arguments, Tool, ToolContext, ToolOutput

DEAF_S = 1.5  # longer than an engine waits for a tool that is deaf to its token
NO_RESULT = "the tape has no result of such a call: it was never run"
NO_ANSWER = "the tape has no answer about this call"


def tape_tools(tape: Tape | Path) -> list[Tool]:
    """The tools of all runs on a tape, or on the file at a path. Each call gets the result that
    the recorded one had: the one with its id, else the next one of that tool. Nothing is ever run.
    """
    tape = tape if isinstance(tape, Tape) else read_tape(tape)
    records = {tool["name"]: tool for run in tape.runs.values() for tool in run.setup.tools}
    return tools_of([*records.values()], TapedCalls([*tape.runs.values()]).run)


class TapedCalls:
    """Answers the calls of runs. For any thread. Close it when they are over."""

    def __init__(self, runs: Sequence[TapedRun], *, original_timing: bool = False) -> None:
        self._left = [(run, call) for run in runs for call in run.calls]
        self._timed = original_timing
        self._lock = Lock()
        self._over = Event()

    def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        """A tool's `run`: gives or raises what the recorded call did."""
        run, call = self._take(context.call)
        if self._timed:
            context.cancel.wait(call.seconds)
        if shown := call.shown or run.progress_of(call.id):
            context.output(shown)
        if call.late or not call.ended:
            context.cancel.wait(PATIENCE_S)  # for those that had ended before
            context.cancel.cancel(run.cancel_reason)
        if not call.ended and run.whole:
            self._over.wait(DEAF_S)  # it was left behind, still running
        if call.output is None:
            raise call.raised or Cancelled()
        return call.output

    def close(self) -> None:
        """Ends calls that are deaf to a cancel, as the recorded ones were."""
        self._over.set()

    def _take(self, call: ToolCall) -> tuple[TapedRun, TapedCall]:
        with self._lock:
            same = [each for each in self._left if each[1].name == call.name]
            found = next((each for each in same if each[1].id == call.id), None)
            found = found or next(iter(same), None)
            if found is None:
                raise ToolError(NO_RESULT)
            self._left.remove(found)
            return found


class TapedAnswers:
    """Answers what the approvers of one run were asked, and what the user said, in order."""

    def __init__(self, run: TapedRun) -> None:
        self._run = run
        self._answers = iter(run.answers)
        self._said = iter(run.steering)

    def approver(self, *, repeat: bool = False) -> Approver:
        def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
            answer = next(self._answers, None)
            if answer is None or answer.repeat is not repeat:
                return Decision(False, NO_ANSWER)
            return self._outcome(answer, cancel)

        return ask

    def steering(self) -> Sequence[str]:
        return next(self._said, ())

    def _outcome(self, answer: Answer, cancel: CancelToken) -> Decision:
        if isinstance(answer.outcome, Decision):
            return answer.outcome
        if isinstance(answer.outcome, Cancelled):
            cancel.cancel(self._run.cancel_reason)
        raise answer.outcome
