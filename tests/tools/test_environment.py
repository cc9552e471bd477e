"""What commands and searches find in their environment."""

from __future__ import annotations

import os
from pathlib import Path

from claw.tools.environment import plain_environment
from tests.support.toolbox import Toolbox


def test_what_would_run_by_itself_is_left_out() -> None:
    env = {
        "HOME": "/home/me",
        "PATH": "/usr/bin::.:bin:/bin:",
        "BASH_ENV": "x",
        "ENV": "x",
        "CDPATH": "x",
        "LESSOPEN": "|x",
        "RIPGREP_CONFIG_PATH": "x",
        "BASH_FUNC_ls%%": "() { evil; }",
    }
    assert plain_environment(env) == {"HOME": "/home/me", "PATH": "/usr/bin:/bin"}
    assert plain_environment({}) == {}


def test_a_command_begins_with_nothing_of_the_workspace_s(box: Toolbox) -> None:
    (box.root / "start").write_text("echo started\n")
    (box.root / "bin").mkdir()
    for name in ("bash", "ls"):
        (box.root / "bin" / name).write_text("#!/bin/sh\necho planted\n")
        (box.root / "bin" / name).chmod(0o755)
    box.env |= {
        "BASH_ENV": str(box.root / "start"),
        "BASH_FUNC_echo%%": "() { printf evil; }",
        "PATH": f"bin:{box.root}/bin:{os.environ['PATH']}",
    }
    assert box.text("bash", command="echo hi; echo $0").splitlines()[1:] == ["hi", "bash"]


def test_where_the_workspace_holds_the_system_its_bash_is_used() -> None:
    box = Toolbox(Path("/"))
    assert box.text("bash", command="echo hi").endswith("hi\n")
    box.close()
