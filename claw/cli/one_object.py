"""The one JSON object that `claw doctor` and `claw models` print with --json, however they end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from claw.cancel import CancelToken
from claw.cli.failures import CANCEL_EXITS, CANCEL_WORDS, tell
from claw.cli.streams import write_output
from claw.errors import ClawError


def show_object(
    told: Mapping[str, Any], status: str = "completed", error: ClawError | None = None
) -> None:
    """Prints `told` with how it ended, in the words of the envelope of `claw run`.

    status: completed, deadline, cancelled or error; `error` is null but with the last.
    """
    how = {"status": status, **told, "error": error.to_dict() if error else None}
    write_output(json.dumps(how) + "\n")


def ended_early(token: CancelToken) -> int:
    """Says on standard error which signal ended the command; returns its exit code."""
    reason = token.reason or "interrupt"
    tell(CANCEL_WORDS.get(reason, "cancelled"))
    return CANCEL_EXITS.get(reason, 1)
