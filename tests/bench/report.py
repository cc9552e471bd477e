"""A Row says what was measured and what the goal is; a Report prints rows and keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


class MeasureFailed(Exception):
    """What is measured didn't do what it should; the words are its own last ones."""


@dataclass(frozen=True)
class Row:
    """One figure beside its goal: a lower limit with `at_least`, else an upper one.

    claw, other: the two figures behind it, with units. skipped: why there is no figure.
    """

    name: str
    goal: float
    unit: str
    measured: float | None = None
    at_least: bool = False
    claw: str = ""
    other: str = ""
    skipped: str = ""

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "skipped"
        reached = self.measured >= self.goal if self.at_least else self.measured <= self.goal
        return "ok" if reached else "SHORT"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


@dataclass
class Report:
    """Prints each row as soon as it is there."""

    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def start(self, settings: Mapping[str, Any]) -> None:
        print(", ".join(f"{name} {value}" for name, value in settings.items()))
        print(f"{'':<48}{'claw':>12}{'other':>12}{'measured':>12}  {'goal':<14}")

    def add_all(self, rows: Iterable[Row]) -> None:
        """A measurement that fails ends its own rows and no others."""
        try:
            for row in rows:
                self.add(row)
        except MeasureFailed as failure:
            self.failures.append(str(failure))
            print(f"FAILED: {failure}", flush=True)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        line = f"{row.name:<48}{row.claw:>12}{row.other:>12}"
        if row.measured is None:
            print(f"{line}  skipped: {row.skipped}", flush=True)
            return
        goal = f"{'>=' if row.at_least else '<='} {row.goal:g} {row.unit}"
        measured = f"{row.measured:.{_decimals(row.measured)}f} {row.unit}"
        print(f"{line}{measured:>12}  {goal:<14}{row.verdict}", flush=True)

    @property
    def short(self) -> bool:
        return any(row.verdict == "SHORT" for row in self.rows)

    def write(self, path: Path, settings: Mapping[str, Any]) -> None:
        rows = [row.to_dict() for row in self.rows]
        whole = {"settings": dict(settings), "rows": rows, "failures": self.failures}
        path.write_text(json.dumps(whole, indent=2) + "\n")


def _decimals(value: float) -> int:
    """Three digits that count."""
    return 2 if value < 10 else 1 if value < 100 else 0
