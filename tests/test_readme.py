"""The README is true: its code runs as printed, its tables say what the code says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from claw.cli import failures
from claw.cli.config import APPROVALS, LIMITS, SANDBOX, read_config
from claw.modes import APPROVAL_MODES
from claw.providers.presets import PRESETS
from claw.tools import coding_tools
from claw.tools.ask_user import ask_user_tool
from tests.support.server import Turn, model, serve

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ADDS = Turn("", calls=(("c1", "add", {"a": 2, "b": 3}),))


def table_under(heading: str) -> list[list[str]]:
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_every_block_of_python_runs_as_printed(code: str, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(code)
    with serve(model(ADDS, "It is 5.")) as server:
        done = subprocess.run(
            [sys.executable, "-W", "error", str(script)],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | {"OPENAI_BASE_URL": server.url},
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in ("", "It is 5.\n")


def test_embedding_takes_ten_lines() -> None:
    embedding = README.split("\n## Embed it\n", 1)[1]
    assert embedding.lstrip().startswith(f"```python\n{BLOCKS[0]}")
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) == 10


def test_the_settings_that_it_shows_are_settings(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "config.toml").write_text(block)
    config = read_config(tmp_path / "config.toml")
    assert config.warnings == ()
    assert set(tomllib.loads(block)) == {"approvals", "sandbox", "limits"}
    for table, known in (("approvals", APPROVALS), ("sandbox", SANDBOX), ("limits", LIMITS)):
        assert set(tomllib.loads(block)[table]) == set(known)


def test_the_table_of_tools_is_that_of_the_command() -> None:
    told = [name for row in table_under("What it can do") for name in row[0].split(", ")]
    known = [tool.name for tool in (*coding_tools("."), ask_user_tool(None))]
    assert sorted(name.strip("`") for name in told) == sorted(known)


def test_the_table_of_modes_is_that_of_the_policy() -> None:
    told = [row[0].split("`")[1] for row in table_under("What it may do")]
    assert told == [*APPROVAL_MODES]


def test_the_table_of_servers_is_that_of_the_presets() -> None:
    told = {name: key.strip("`") for name, _, key in table_under("Servers")}
    known = {
        preset.name: preset.key_variable or ("CLAW_API_KEY" if not preset.base_url else "none")
        for preset in PRESETS.values()
    }
    assert told == known


def test_the_table_of_exit_codes_is_that_of_the_command() -> None:
    told = {int(code) for row in table_under("In scripts") for code in row[0].split(" / ")}
    known = {0, 1, failures.USAGE, failures.OUTPUT_CLOSED, *failures.STATUS_EXITS.values()}
    assert told == known | set(failures.CANCEL_EXITS.values())
