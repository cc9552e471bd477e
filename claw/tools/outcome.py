"""How a command ended, in the words that its result begins with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from claw.tools import sweep
from claw.tools.words import first_few, one_line

if TYPE_CHECKING:
    from claw.tools.process import ProcessResult

NAMED_PROCESSES = 5


def ending(result: ProcessResult, limit: float | None) -> str:
    """`exit code 0 after 1.2 s`, or who or what ended it. limit: the timeout it had."""
    took = f"{result.duration_s:.1f} s"
    if result.stopped == "timeout" and limit is not None:
        return f"timed out after {limit:g} s and was ended"
    if result.stopped:
        return f"interrupted after {took}"
    return f"exit code {result.exit_code} after {took}"


def leftovers(result: ProcessResult, in_front: str) -> list[str]:
    """A line each for what had to be ended besides, and for what still runs.

    in_front: how a sandbox's own program begins (see Sandbox), which isn't worth a word.
    """
    lines = []
    ended = _named(result.ended, in_front)
    still_running = _named(result.still_running, in_front)
    if result.exit_code is None:
        lines.append("the system could not end it; it may still run")
    if result.stopped and not sweep.can_sweep():
        lines.append("processes that left its process group can't be found on this system")
    if ended:
        lines.append(f"also ended: {_some(ended)}")
    if still_running:
        until = "until the session ends" if sweep.can_sweep() else "even after the session"
        lines.append(f"still running, {until}: {_some(still_running)}")
    return lines


def _named(found: Iterable[sweep.Straggler], in_front: str) -> list[str]:
    own = in_front[: sweep.COMMAND_CHARS - 1]  # as far as a command line is kept
    return [one_line(str(each)) for each in found if not (own and each.command.startswith(own))]


def _some(names: Sequence[str]) -> str:
    return first_few(names, NAMED_PROCESSES, "; ")
