"""Profiles for hypothesis, and the rule that a test leaves nothing behind."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

GRACE_S = 2.0


def pytest_configure(config: pytest.Config) -> None:
    """Temp files go to a folder of this test run, so that runs side by side don't count theirs."""
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="claw-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)


settings.register_profile(
    "check", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "stress", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "check"))


@pytest.fixture(autouse=True)
def nothing_outlives_a_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """No thread, file descriptor, child process or temp file of the test is left.

    A test that abandons a thread on purpose (a look-up that hangs, a deaf tool) frees it itself
    before it ends.
    """
    threads, files, temp = set(threading.enumerate()), _open_files(), _temp_files()
    yield
    end = time.monotonic() + GRACE_S
    for thread in set(threading.enumerate()) - threads:
        thread.join(max(0.0, end - time.monotonic()))
    left = [thread.name for thread in set(threading.enumerate()) - threads]
    assert not left, f"threads outlive the test: {left}"
    if _new(files):
        gc.collect()  # a dropped provider's connections close with it
    new = _new(files)
    assert not new, f"file descriptors outlive the test: {new}"
    assert not _children(), f"children outlive the test: {_children()}"
    assert not _temp_files() - temp, f"temp files outlive the test: {_temp_files() - temp}"


def _new(before: dict[str, str]) -> dict[str, str]:
    return {fd: name for fd, name in _open_files().items() if before.get(fd) != name}


def _open_files() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found[entry.name] = str(entry.readlink())
        except OSError:
            continue  # the descriptor of this very listing
    return found


def _children() -> list[str]:
    pids: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        try:
            pids += (task / "children").read_text().split()
        except OSError:
            continue  # the thread has just ended
    return [Path(f"/proc/{pid}/cmdline").read_text() for pid in pids]


def _temp_files() -> set[str]:
    names = os.listdir(tempfile.gettempdir())
    return {name for name in names if not name.startswith("pytest-of-")}
