"""`python -m claw` in a folder that isn't trusted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_modules_of_the_folder_are_not_run(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("print('planted')\n")
    for options in ([], ["-P"]):
        done = subprocess.run(
            [sys.executable, *options, "-m", "claw", "config", "show"],
            cwd=tmp_path,
            env={"HOME": str(tmp_path), "CLAW_HOME": str(tmp_path / "own")},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode in (0, 2)
        assert "planted" not in done.stdout + done.stderr
        assert "Error" not in done.stderr
