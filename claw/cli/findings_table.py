"""Findings as lines of a table: what, found, verdict."""

from __future__ import annotations

import os
from collections.abc import Mapping
from textwrap import TextWrapper

from claw.cli.style import Paint, Role
from claw.cli.visible import visible
from claw.providers.probe.findings import Finding, Verdict

WHAT_COLUMNS = 16
VERDICT_COLUMNS = 15  # of the longest verdict
LEAST_COLUMNS = 24  # for what was found, however narrow the terminal
WIDTH_OF_A_LOG = 100

ROLES: Mapping[Verdict, Role] = {
    Verdict.OK: "added",
    Verdict.QUIRK: "notice",
    Verdict.FAULT: "error",
}


def table_width(descriptor: int) -> int:
    """The columns there are for a line."""
    try:
        return min(os.get_terminal_size(descriptor).columns or WIDTH_OF_A_LOG, WIDTH_OF_A_LOG)
    except OSError:
        return WIDTH_OF_A_LOG


def table_row(finding: Finding, width: int, paint: Paint) -> str:
    """The lines for one finding. What servers have said can't touch the terminal."""
    room = max(LEAST_COLUMNS, width - WHAT_COLUMNS - VERDICT_COLUMNS - 2)
    # URLs and paths stay whole, so that they can be copied.
    wrap = TextWrapper(room, break_long_words=False, break_on_hyphens=False)
    first, *more = wrap.wrap(visible(finding.found)) or [""]
    verdict = paint(finding.verdict.value, ROLES.get(finding.verdict, "dim"))
    lines = [f"{finding.what:<{WHAT_COLUMNS}}{first:<{room}}  {verdict}"]
    return "".join(f"{line}\n" for line in [*lines, *(" " * WHAT_COLUMNS + rest for rest in more)])
