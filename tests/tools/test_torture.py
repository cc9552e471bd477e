"""Every file operation of write, edit and undo fails once: the old content or the new, and a line.

First the operations that claw asks `os` for, counted and failed in turn in this process; then, in
the stress run, the system calls themselves, failed by strace in a child.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claw.tools.undo import UndoLog, undo_in
from tests.support.faults import Faults
from tests.support.one_call import MARK
from tests.support.toolbox import Toolbox

SMALL, LARGE = b"old\r\nline\xe9\n", b"old\n" + b"x" * 150_000
NUMBERS = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR]
# In a short run each operation fails with one of them, in the stress run with every one.
STEP = 1 if os.environ.get("CLAW_STRESS") else len(NUMBERS)
EDIT = [{"old_text": "old", "new_text": "new"}]


def write(box: Toolbox) -> str:
    return box.call("write_file", path="d/a", content="new\n").content


def edit(box: Toolbox) -> str:
    return box.call("edit_file", path="d/a", edits=EDIT).content


def create(box: Toolbox) -> str:
    return box.call("write_file", path="x/y/new", content="new\n").content


def undo(box: Toolbox) -> str:
    return "\n".join(log_of(box).undo_turn())


def log_of(box: Toolbox) -> UndoLog:
    return undo_in(box.session.state("files"))


def state_of(root: Path) -> dict[str, tuple[int, bytes]]:
    """All files below a folder, those that somebody forgot to remove too."""
    return {
        str(path.relative_to(root)): (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }


def prepared(root: Path, old: bytes, changes: list[Callable[[Toolbox], str]]) -> Toolbox:
    (root / "d").mkdir(parents=True)
    (root / "d/a").write_bytes(old)
    (root / "d/a").chmod(0o640)
    box = Toolbox(root)
    for change in changes:
        change(box)
    return box


CASES: dict[str, tuple[bytes, list[Any], Any]] = {
    "write": (SMALL, [], write),
    "write a large one": (LARGE, [], write),
    "edit": (SMALL, [], edit),
    "create": (SMALL, [], create),
    "undo an edit": (SMALL, [edit], undo),
    "undo a large write": (LARGE, [write], undo),
    "undo a new file": (SMALL, [create], undo),
}


@pytest.mark.parametrize("number", NUMBERS, ids=errno.errorcode.get)
@pytest.mark.parametrize("case", CASES)
def test_each_operation_fails_once(tmp_path: Path, case: str, number: int) -> None:
    old, changes, act = CASES[case]
    warm = prepared(tmp_path / "warm", old, changes)
    act(warm)  # so that nothing is imported later, which asks for operations as well
    warm.close()
    counted = Faults()
    box = prepared(tmp_path / "0", old, changes)
    before = state_of(box.root)
    with counted.at_work():
        act(box)
    after = state_of(box.root)
    box.close()
    assert before != after
    assert len(counted.asked) > 10
    if "replace" in counted.asked:  # what a crash must not lose is synced before it has its name
        until_then = counted.asked[: counted.asked.index("replace")]
        assert [name for name in until_then if name in ("write", "fsync")][-2:] == [
            "write",
            "fsync",
        ]
    for n in range(1 + NUMBERS.index(number) % STEP, len(counted.asked) + 1, STEP):
        box = prepared(tmp_path / f"{n}", old, changes)
        faults = Faults(n, number)
        with faults.at_work():
            said = act(box)
        where = f"{faults.asked[n - 1]}, operation {n}: {said}"
        found = state_of(box.root)
        assert found in (before, after), where
        if act is undo:
            assert len(said.splitlines()) == 1, where
            if found == before:  # what the system refused is tried once more
                assert log_of(box).undo_turn() != [], where
                assert state_of(box.root) == after, where
        elif found == before:
            assert len(said.splitlines()) == 1, where
            assert said.startswith("can't "), where
            assert not (box.root / "x").exists(), where
            act(box)
            assert state_of(box.root) == after, where
        else:
            assert not said.startswith("can't "), where
        log_of(box).undo_turn()
        box.close()
        shutil.rmtree(box.root)


WRITE_FOR_EVER = """
import sys
from pathlib import Path
from tests.support.toolbox import Toolbox
box = Toolbox(Path(sys.argv[1]))
while True:
    for letter in "ab":
        box.text("write_file", path="f", content=letter * 1_000_000)
        print("written", flush=True)
"""


@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.stress)])
def test_killed_while_it_writes(tmp_path: Path, kills: int) -> None:
    program = [sys.executable, "-c", WRITE_FOR_EVER, str(tmp_path)]
    (tmp_path / "tmp").mkdir()
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}  # nobody removes what a killed one made
    for n in range(kills):
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=env) as child:
            assert child.stdout is not None
            for _ in range(1 + n % 7):
                assert child.stdout.readline() == "written\n"
            child.kill()
        content = (tmp_path / "f").read_text()
        assert len(content) == 1_000_000
        assert len(set(content)) == 1


SYSTEM_CALLS = (
    "openat,close,read,write,fsync,rename,renameat,renameat2,mkdirat,unlinkat,fchmod,fchown,"
    "newfstatat,fstat,lseek,ioctl"
)
STRACE = shutil.which("strace")


@pytest.mark.stress
@pytest.mark.parametrize("what", ["write", "edit", "undo"])
def test_each_system_call_fails_once(tmp_path: Path, what: str) -> None:
    """One error after the other: the n-th call of a kind gets the n-th of them, and so on."""
    if STRACE is None or not can_trace():
        pytest.skip("needs strace, and leave to trace a child")
    calls = system_calls_of(tmp_path / "count", what)
    assert {"openat", "write", "fsync", "fchmod"} <= {name for name, _ in calls}
    for index, (name, n) in enumerate(calls):
        word = errno.errorcode[NUMBERS[index % len(NUMBERS)]]
        root = tmp_path / f"{index}"
        said = run(root, what, "-e", f"inject={name}:error={word}:when={n}")
        where = f"{name}, number {n}, {word}: {said}"
        content = (root / "a").read_bytes()
        assert content in (b"old\n", b"new\n"), where
        assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640, where
        assert os.listdir(root) == ["a"], where
        if said.startswith(("can't ", "not restored")):
            assert len(said.splitlines()) == 1, where
            assert content == (b"new\n" if what == "undo" else b"old\n"), where


def can_trace() -> bool:
    return subprocess.run([str(STRACE), "-qq", "true"], capture_output=True).returncode == 0


def run(root: Path, what: str, *options: str) -> str:
    """What the call said, with the log of its system calls in root.log."""
    root.mkdir()
    (root / "a").write_bytes(b"old\n")
    (root / "a").chmod(0o640)
    program = [sys.executable, "-m", "tests.support.one_call", str(root), what]
    traced = [str(STRACE), "-qq", "-o", f"{root}.log", "-e", f"trace={SYSTEM_CALLS}", *options]
    env = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*traced, *program], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def system_calls_of(root: Path, what: str) -> list[tuple[str, int]]:
    """The calls between the two marks, each as its kind and its number among those."""
    run(root, what)
    counts: dict[str, int] = {}
    found, marks = [], 0
    for line in Path(f"{root}.log").read_text().splitlines():
        name = re.match(r"\w+", line)
        if name is None:
            continue
        counts[name[0]] = counts.get(name[0], 0) + 1
        if MARK in line:
            marks += 1
        elif marks == 1:
            found.append((name[0], counts[name[0]]))
    assert marks == 2
    return found
