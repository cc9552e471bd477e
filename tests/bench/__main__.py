"""Measures claw: beside the openai SDK, beside a bare script, and against fixed limits.

Figures are medians of rounds in which both sides take turns; a ratio means more than a time. A
goal that isn't reached is reported as SHORT.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from tests.bench import commands, streams
from tests.bench.install import ROOT, Installation, fresh_core, sizes
from tests.bench.peer import url
from tests.bench.report import Report, Row
from tests.bench.server import running_server

GROUPS: dict[str, Callable[[streams.Bench], Iterator[Row]]] = {
    "text": streams.text_burst,
    "messages": streams.messages_burst,
    "padded": streams.padded_burst,
    "tools": streams.tool_burst,
    "latency": streams.latency,
    "history": streams.long_history,
    "cancel": streams.cancel,
}
INSTALLED = "installed"


def main() -> int:
    arguments = _parser().parse_args()
    sdk = streams.find_sdk(arguments.sdk_python)
    settings = {
        "claw": version("claw-engine"),
        "openai": sdk.version or f"none ({sdk.missing})",
        "Python": platform.python_version(),
        "cores": os.cpu_count(),
        "rounds": arguments.rounds,
        "deltas": arguments.deltas,
    }
    chosen = arguments.only or [*GROUPS, INSTALLED]
    report = Report()
    report.start(settings)
    with running_server() as server:
        bench = streams.Bench(server, arguments.rounds, arguments.deltas, sdk)
        for group in GROUPS:
            if group in chosen:
                report.add_all(GROUPS[group](bench))
        if INSTALLED in chosen:
            with fresh_core() as installation:
                report.add_all(_installed(installation, bench))
    if arguments.json:
        report.write(arguments.json, settings)
    return 1 if report.failures or (arguments.strict and report.short) else 0


def _installed(installation: Installation, bench: streams.Bench) -> Iterator[Row]:
    """What is measured on an installation of the core."""
    yield from sizes(installation)
    if installation.missing:
        return
    yield commands.importing(installation, bench.rounds, "import claw")
    yield commands.importing(installation, bench.rounds, "from claw import Engine")
    yield commands.help_text(installation, bench.rounds)
    yield commands.first_token(installation, bench.rounds, url(bench.server, "burst", 1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=[*GROUPS, INSTALLED], help="these figures alone"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="of each comparison; 3 take about three minutes"
    )
    parser.add_argument("--deltas", type=int, default=100_000, help="of a burst")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a goal isn't reached")
    parser.add_argument(
        "--sdk-python",
        type=Path,
        default=ROOT / ".venv-bench/bin/python",
        metavar="PYTHON",
        help="a Python that has the openai SDK",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
