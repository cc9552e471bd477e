"""What the command's tests share: a user's shell, and a conversation in a terminal of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.command import Shell
from tests.support.pty import Terminal
from tests.support.repl import MISSING, NOT_INSTALLED, PROMPT, Model, Start
from tests.support.server import Server, serve


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home, folder = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    folder.mkdir()
    return Shell(home, folder)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model) -> Iterator[Server]:
    with serve(model) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """claw's own folder, which trusts the workspace already."""
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir(mode=0o700)
    workspace.mkdir()
    (home / "trust.json").write_text(json.dumps({str(workspace.resolve()): True}))
    for folder, names in MISSING.items():
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f"{name}.py").write_text(NOT_INSTALLED)
    return home


@pytest.fixture
def start(home: Path, server: Server) -> Start:
    """Starts claw in a terminal; afterwards its modes are as before."""

    @contextmanager
    def running(
        flavour: str, *options: str, holder: bool = True, **size: int
    ) -> Iterator[Terminal]:
        folder = home.parent
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "CLAW_HOME": str(home),
            "TERM": "dumb" if flavour == "dumb" else "xterm-256color",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join([str(home), str(folder / flavour)]),
        }
        argv = [sys.executable, "-m", "claw", "--base-url", server.url, "--model", "scripted"]
        with Terminal.running(
            [*argv, *options], cwd=folder / "work", env=env, holder=holder, **size
        ) as terminal:
            terminal.wait_for(PROMPT)
            yield terminal
            if holder:
                terminal.wait_exit()
                assert terminal.modes() == terminal.modes_before

    return running
