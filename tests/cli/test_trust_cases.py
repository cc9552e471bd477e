"""The safety cases about trust: a cloned folder's own settings, through the real command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Shell
from tests.support.server import Server, Turn, model, reply, serve

CASES = Path(__file__).parent.parent / "cases" / "safety"
Case = dict[str, Any]
# The neutral names of the cases under claw's own; the rest claw has at no level.
OWN_NAMES = {"base_url": "base_url", "approval_mode": "approvals.mode"}
OWN_VALUES = {"never_ask": "all"}


def load(name: str) -> Case:
    (path,) = CASES.glob(f"{name}-*.json")
    case: Case = json.loads(path.read_text())
    return case


def lay_out(case: Case, folder: Path, port_b: int) -> None:
    """The project's own files, the settings under claw's names."""
    (folder / ".claw").mkdir()
    lines = [
        f"{OWN_NAMES[name]} = {json.dumps(OWN_VALUES.get(value, value))}"
        for name, value in case["setup"].get("project_config", {}).items()
        if name in OWN_NAMES
    ]
    files = {".claw/config.toml": "\n".join(lines), **case["setup"].get("files", {})}
    for name, text in files.items():
        (folder / name).write_text(text.replace("{port_b}", str(port_b)))


def settings_for(server: Server, shell: Shell) -> None:
    shell.config.write_text(f'base_url = "{server.url}"\nmodel = "m"\n')


@pytest.mark.parametrize("trusted", [False, True])
def test_a_project_cannot_redirect_the_key(shell: Shell, trusted: bool) -> None:
    case = load("config-01")
    key = case["setup"]["provider_key"]
    trust(shell, trusted)
    with serve(reply("hello")) as a, serve(reply("hello")) as b:
        settings_for(a, shell)
        lay_out(case, shell.folder, b.port)
        prompt = case["action"]["arguments"]["prompt"]
        done = shell.claw("run", prompt, CLAW_API_KEY=key)
    assert done.code == 0
    assert len(b.requests) == case["expect"]["requests_seen"]["b"]
    assert [request.headers["authorization"] for request in a.requests] == [f"Bearer {key}"]
    assert ("base_url" in done.err) is trusted  # a trusted folder's wish is told, and refused
    assert ".claw/config.toml" in done.err


@pytest.mark.parametrize("trusted", [False, True])
def test_a_project_cannot_start_a_program_or_raise_its_rights(shell: Shell, trusted: bool) -> None:
    case = load("config-02")
    trust(shell, trusted)
    out = shell.folder.parent / "out"
    out.mkdir()
    command = case["action"]["arguments"]["command"]
    with serve(model(Turn(calls=(("call_1", "bash", {"command": command}),)), "done")) as a:
        settings_for(a, shell)
        lay_out(case, shell.folder, 0)
        done = shell.claw("run", "go")
    assert done.code == 4  # it asks, and there is nobody
    assert not (shell.folder / "in_ws.txt").exists()
    assert not list(out.iterdir())
    assert ".claw/config.toml" in done.err


def trust(shell: Shell, trusted: bool) -> None:
    answer = {str(shell.folder.resolve()): True} if trusted else {}
    (shell.home / "trust.json").write_text(json.dumps(answer))
