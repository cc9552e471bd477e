"""Each write, fsync, rename and open of a session fails once in turn, and for a while.

Needs a C compiler (cc): the faults are made below Python, in a library loaded before libc.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from claw.messages import Message
from claw.store import SessionStore
from tests.support.storing import file_of

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "support" / "faults.c"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs cc, a C compiler")
@pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD")
@pytest.mark.parametrize(
    "errors",
    [
        ["ENOSPC"],
        pytest.param(["ENOSPC", "EIO", "EDQUOT", "EINTR"], marks=pytest.mark.stress),
    ],
    ids=len,
)
def test_no_fault_of_the_disk_costs_a_record(errors: list[str], tmp_path: Path) -> None:
    library = tmp_path / "faults.so"
    compiler = ["cc", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(compiler, check=True, timeout=60)
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.faulty", str(library), str(tmp_path), *errors],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert min(counts.values()) >= len(errors) // 2 + 1, counts
    assert counts["write"] >= 50 * len(errors), counts


def test_a_file_that_may_not_grow_is_told_and_nothing_is_lost(store: SessionStore) -> None:
    """The same by the kernel's own hand: a real short write, then a real error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with store.new("/work", "m") as session:
        session.append(Message.user("before"))
        assert session.id is not None
        file = file_of(store, session.id)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 60, hard))
        try:
            session.append(Message.user("too long for what is left: " + "x" * 100))
            session.append(Message.user("short"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert file.read_bytes().endswith(b'"before"}]}\n')
        session.append(Message.user("after"))
        failing, working = session.notices
        assert "can't be saved" in failing
        assert "saved again" in working
    with store.open(session.id) as again:
        assert again.messages == session.messages
