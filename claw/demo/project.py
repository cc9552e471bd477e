"""The project the demo works on: one module with a bug, and the tests that find it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

MODULE = "duration.py"
TESTS = "test_duration.py"

BUG = "    minutes = seconds // 60"
FIX = "    minutes = seconds % 3600 // 60"

FILES: Mapping[str, str] = {
    MODULE: f'''"""Durations for people: 3725 seconds are '1 h 2 min 5 s'."""


def human(seconds: int) -> str:
    hours = seconds // 3600
{BUG}
    rest = seconds % 60
    return f"{{hours}} h {{minutes}} min {{rest}} s"
''',
    TESTS: """import unittest

from duration import human


class HumanTest(unittest.TestCase):
    def test_two_minutes(self):
        self.assertEqual(human(125), "0 h 2 min 5 s")

    def test_one_hour(self):
        self.assertEqual(human(3725), "1 h 2 min 5 s")
""",
}


def write_project(folder: Path) -> None:
    """Puts the files into `folder`, bug and all."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def changes(folder: Path) -> str:
    """What has been changed since `write_project`, as a unified diff; empty when nothing was."""
    return "".join(
        line
        for name, before in FILES.items()
        for line in difflib.unified_diff(
            before.splitlines(keepends=True),
            (folder / name).read_text(encoding="utf-8").splitlines(keepends=True),
            f"a/{name}",
            f"b/{name}",
        )
    )
