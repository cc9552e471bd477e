"""The house: imports go downward only, and importing claw costs and touches next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import claw

ROOT = Path(claw.__file__).parent
# Lowest first. A module may import its own layer and those before it.
LAYERS = [
    "values",
    "modes",
    "unseen",
    "log",
    "errors",
    "messages",
    "cancel",
    "channel",
    "pricing",
    "wake_pipe",
    "results",
    "events",
    "session",
    "store",
    "tools.base",
    "policy",
    "approval",
    "reporter",
    "providers",
    "tools",
    "engine",
    "tape",
    "demo",
    "local",
    "cli",
]
FORBIDDEN_BELOW = {"print", "input", "signal.signal", "signal.set_wakeup_fd"}
MODULES = sorted(ROOT.rglob("*.py"))


def layer_of(name: str) -> int | None:
    """The layer of `claw.x.y`; None for the package itself, which re-exports."""
    short = name.removeprefix("claw").removeprefix(".")
    short = short.replace("tools.schema", "tools.base")  # the two are one layer
    fitting = [layer for layer in LAYERS if short == layer or short.startswith(layer + ".")]
    return LAYERS.index(max(fitting, key=len)) if fitting else None


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_downward_only(path: Path) -> None:
    mine = layer_of(name_of(path))
    if mine is None:
        assert path.parent == ROOT
        return
    for name in imports_of(path):
        if name.split(".")[0] == "claw":
            theirs = layer_of(name)
            assert theirs is not None or name == "claw", f"{name} has no layer"
            assert theirs is None or theirs <= mine, f"{name_of(path)} imports {name}, upward"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_command_knows_the_terminal(path: Path) -> None:
    if {"cli", "demo", "local"} & set(path.relative_to(ROOT).parts):
        return
    used = {name.split(".")[0] for name in imports_of(path)}
    assert not used & {"click", "rich", "prompt_toolkit", "termios"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in FORBIDDEN_BELOW


def test_nothing_in_claw_sleeps() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                assert (node.attr, getattr(node.value, "id", "")) != ("sleep", "time"), path


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(out.stdout.split())


def test_importing_claw_loads_neither_http_nor_the_terminal() -> None:
    loaded = loaded_by("import claw.providers, claw.tools; from claw import Engine")
    heavy = {"requests", "urllib3", "click", "rich", "prompt_toolkit", "jsonschema", "asyncio"}
    assert not loaded & (heavy | {"logging", "subprocess"})


def test_importing_claw_starts_no_thread_and_installs_no_handler() -> None:
    code = (
        "import signal, threading; before = signal.getsignal(signal.SIGINT); import claw;"
        "assert threading.active_count() == 1; assert signal.getsignal(signal.SIGINT) is before"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
