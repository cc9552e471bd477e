"""How the command ends: a line for the user, and an exit code that scripts can trust."""

from __future__ import annotations

import sys
from collections.abc import Callable

from claw.cli.streams import abandon_output, complete_streams, flush_output
from claw.cli.visible import shown
from claw.errors import ClawError, ConfigError
from claw.events import RunResult, RunStatus

USAGE = 2
OUTPUT_CLOSED = 141
BROKEN_PIPE = "broken pipe"  # the engine's word for a reporter that can't write any more

STATUS_EXITS = {
    RunStatus.COMPLETED: 0,
    RunStatus.ERROR: 1,
    RunStatus.TRUNCATED: 3,
    RunStatus.REFUSED: 3,
    RunStatus.MAX_STEPS: 3,
    RunStatus.BUDGET: 3,
    RunStatus.DEADLINE: 3,
    RunStatus.LOOP: 3,
    RunStatus.NEEDS_APPROVAL: 4,
    RunStatus.CANCELLED: 130,
}
CANCEL_EXITS = {"interrupt": 130, "terminated": 143, "hangup": 129}
CANCEL_WORDS = {"interrupt": "interrupted", "terminated": "ended by TERM", "hangup": "hung up"}


def exit_code(result: RunResult) -> int:
    """The exit code of a run that ended with `result`."""
    if isinstance(result.error, ConfigError):
        return USAGE
    if result.cancel_reason == BROKEN_PIPE:
        return OUTPUT_CLOSED
    if result.status is RunStatus.CANCELLED:
        return CANCEL_EXITS.get(result.cancel_reason or "", 130)
    return STATUS_EXITS[result.status]


def closing_line(result: RunResult) -> str:
    """Why a run failed, or never began; the reporter tells all other endings."""
    if result.error is not None:
        return result.error.message
    if result.status is RunStatus.DEADLINE:
        return "the time is up (--timeout)"
    return CANCEL_WORDS.get(result.cancel_reason or "", "cancelled")


def tell(line: str) -> None:
    """One line on standard error, fit for a terminal. A closed one is no reason to fail."""
    try:
        sys.stderr.write(f"claw: {shown(line)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def as_claw_error(error: Exception) -> ClawError:
    """Anything that got out, as an error with one line for a person."""
    if isinstance(error, ClawError):
        return error
    name = type(error).__name__
    return ClawError(f"internal error, a fault in claw: {name}: {error} (--verbose shows where)")


def guarded(command: Callable[[], int], *, verbose: bool = False) -> int:
    """Runs a command: whatever gets out of it becomes a line and an exit code."""
    if not complete_streams():
        return OUTPUT_CLOSED
    stdout = sys.stdout
    try:
        code = command()
        flush_output(stdout)
    except KeyboardInterrupt:
        return CANCEL_EXITS["interrupt"]
    except BrokenPipeError:
        abandon_output()
        return OUTPUT_CLOSED
    except Exception as error:
        if verbose:
            show_traceback()
        mapped = as_claw_error(error)
        tell(mapped.message)
        return USAGE if isinstance(mapped, ConfigError) else 1
    return code


def show_traceback() -> None:
    """The traceback of the exception that is being handled; only for --verbose."""
    import traceback

    sys.stderr.write(shown(traceback.format_exc()))
