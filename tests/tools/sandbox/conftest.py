"""Places outside of /tmp, which a sandbox covers, and tools whose commands run in one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from claw.errors import ConfigError
from claw.tools.base import ToolRegistry
from claw.tools.jobs import job_tool
from claw.tools.sandbox import NoSandbox, Sandbox, find_sandbox
from claw.tools.shell import bash_tool
from claw.tools.workspace import Workspace
from tests.support.toolbox import Toolbox

NO_PROGRAMS = "/nonexistent"


@dataclass(frozen=True)
class Places:
    """Three empty folders: the workspace, one outside of it, claw's own."""

    ws: Path
    out: Path
    own: Path


@pytest.fixture
def places() -> Iterator[Places]:
    base = Path(tempfile.mkdtemp(prefix="claw-tests-", dir="/var/tmp")).resolve()
    found = Places(base / "ws", base / "out", base / "ws" / "own")
    for folder in (found.ws, found.out):
        folder.mkdir()
    yield found
    shutil.rmtree(base)


def sandbox_of(kind: str, places: Places, mode: str = "auto", **options: Any) -> Sandbox:
    """The one of that name, or a skip where this machine doesn't have it. mode: as find_sandbox."""
    if kind == "none":
        return NoSandbox()
    environ = {"PATH": os.environ["PATH"] if kind == "bubblewrap" else NO_PROGRAMS}
    options = {"workspace": places.ws, "environ": environ, **options}
    try:
        sandbox = find_sandbox(mode, **options)
    except ConfigError as error:
        pytest.skip(f"needs {kind}: {error.message}")
    if sandbox.name != kind:
        pytest.skip(f"needs {kind}: {sandbox.about()}")
    return sandbox


class SandboxedToolbox(Toolbox):
    """`bash` and `job` alone, in a sandbox."""

    def __init__(self, root: Path, sandbox: Sandbox, env: Mapping[str, str] | None = None) -> None:
        super().__init__(root, env)
        workspace = Workspace(root)
        self.sandbox = sandbox
        self.tools = ToolRegistry([bash_tool(workspace, sandbox), job_tool()])

    def output(self, command: str, **arguments: Any) -> str:
        """What a command that runs to its end has written, and the notes below it."""
        return self.text("bash", command=command, **arguments).partition("\n")[2]

    def exit_code(self, command: str) -> int | None:
        code = self.call("bash", command=command).details["exit_code"]
        assert code is None or isinstance(code, int)
        return code


def contents(folder: Path) -> dict[str, str]:
    """The files below a folder, without what was moved aside."""
    return {
        str(path.relative_to(folder)): path.read_text(errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".aside-" not in path.name
    }


OpenBox = Callable[..., SandboxedToolbox]


@pytest.fixture
def open_box(places: Places) -> Iterator[OpenBox]:
    """open_box(kind, **options of find_sandbox) gives tools; their session ends with the test."""
    with ExitStack() as stack:

        def open_one(kind: str, **options: Any) -> SandboxedToolbox:
            box = SandboxedToolbox(places.ws, sandbox_of(kind, places, **options))
            stack.callback(box.close)
            return box

        yield open_one


@pytest.fixture(params=["bubblewrap", "landlock"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each sandbox that is in force, by name."""
    return str(request.param)


@pytest.fixture
def confined(kind: str, open_box: OpenBox) -> SandboxedToolbox:
    """Tools in each of them."""
    return open_box(kind)
