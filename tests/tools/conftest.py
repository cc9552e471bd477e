from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.toolbox import Toolbox


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Toolbox]:
    """Tools in an empty workspace, `box.root`; the session is closed at the end."""
    root = tmp_path / "ws"
    root.mkdir()
    toolbox = Toolbox(root)
    yield toolbox
    toolbox.close()
