"""`make conformance`: the cases of tests/cases against claw and, where installed, its peers.

    python -m tests.conformance [--client ADAPTER] [--python ADAPTER=PATH] [--json FILE] [--faults]

Prints how many cases of each kind a client passes, in all cuttings. Exit code 1 if claw misses one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.client import ROOT
from tests.conformance.suite import Score, play_all
from tests.support.cases import load, play_case

OURS = "claw_adapter"
PEERS = ("openai_sdk", "anthropic_sdk")
PEERS_PYTHON = ROOT / ".venv-bench" / "bin" / "python"


def main() -> int:
    options = parsed()
    python = {OURS: sys.executable} | dict(each.split("=", 1) for each in options.python)
    default = str(PEERS_PYTHON) if PEERS_PYTHON.exists() else sys.executable
    scores = []
    with play_case().serve(load("stream")) as player:
        for adapter in options.client or [OURS, *PEERS]:
            start = time.monotonic()
            score = play_all(adapter, python.get(adapter, default), player)
            if isinstance(score, str):
                print(f"{adapter} is left out: {score}", file=sys.stderr)
                continue
            scores.append(score)
            won, asked = score.passed()
            spent = time.monotonic() - start
            print(f"{score.name}: {won} of {asked}, in {spent:.0f} s", file=sys.stderr)
    print(table(scores))
    if options.faults:
        print(faults(scores))
    if options.json:
        Path(options.json).write_text(json.dumps([s.to_dict() for s in scores], indent=1) + "\n")
    return int(any(score.faults for score in scores if score.name == "claw-engine"))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("--client", action="append", help="an adapter's name; default: all")
    parser.add_argument("--python", action="append", default=[], metavar="ADAPTER=PATH")
    parser.add_argument("--json", metavar="FILE", help="write the scores and every fault there")
    parser.add_argument("--faults", action="store_true", help="print every fault")
    return parser.parse_args()


def table(scores: Sequence[Score]) -> str:
    """A Markdown table: a row for each kind, a column for each client, what isn't asked empty."""
    kinds = sorted({kind for score in scores for kind in score.kinds})
    rows = [["kind of case", *(f"{score.name} {score.version}" for score in scores)]]
    rows += [[kind, *(_cell(score, kind) for score in scores)] for kind in kinds]
    rows.append(["all", *(_cell(score, None) for score in scores)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [" | ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "-|-".join("-" * width for width in widths), *lines[1:]])


def faults(scores: Sequence[Score]) -> str:
    return "\n".join(
        f"{score.name}: {fault.case} ({fault.kind}, cutting {fault.cutting}): {fault.why}"
        for score in scores
        for fault in score.faults
    )


def _cell(score: Score, kind: str | None) -> str:
    won, asked = score.passed(kind)
    return f"{won}/{asked}" if asked else ""


if __name__ == "__main__":
    sys.exit(main())
