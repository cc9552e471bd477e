"""What holds a command back, and what is watched, once more for somebody who isn't root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534
ROOT = Path(__file__).parents[3]


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="claw-tests-", dir="/var/tmp"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def python_for_all() -> str:
    """One of our version that others may run too: root's own may lie in root's home."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (os.path.realpath(sys.executable), shutil.which(version, path="/usr/bin")):
        if python and all(folder.stat().st_mode & 0o001 for folder in Path(python).parents):
            return python
    pytest.skip(f"needs a {version} that an ordinary user may run")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root; without it the others are this test")
def test_it_holds_for_an_ordinary_user_too(home: Path) -> None:
    python = python_for_all()
    packages = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
    here = Path(__file__).parent
    files = [str(here / name) for name in ("test_bounds.py", "test_guard.py", "test_find.py")]
    done = subprocess.run(
        [python, "-m", "pytest", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": ":".join(packages),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(home),
            "TMPDIR": str(home),
        },
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
