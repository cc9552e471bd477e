from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home, folder = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    folder.mkdir()
    return Shell(home, folder)
