"""How a command ended, in the words that its result begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claw.tools import sweep

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


def leftovers(result: ProcessResult) -> list[str]:
    """A line each for what had to be ended besides, and for what still runs."""
    lines = []
    if result.exit_code is None:
        lines.append("the system could not end it; it may still run")
    if result.stopped and not sweep.can_sweep():
        lines.append("processes that left its process group can't be found on this system")
    if result.ended:
        lines.append(f"also ended: {_some(result.ended)}")
    if result.still_running:
        until = "until the session ends" if sweep.can_sweep() else "even after the session"
        lines.append(f"still running, {until}: {_some(result.still_running)}")
    return lines


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - NAMED_PROCESSES
    return "; ".join(names[:NAMED_PROCESSES]) + (f"; and {more} more" if more > 0 else "")
