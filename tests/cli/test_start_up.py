"""Signals before there is a turn or a prompt, and files that would make the start wait for ever."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command import Shell, finished

SLOW_KEY = """
base_url = "http://127.0.0.1:9/v1"
model = "m"
key_command = "touch started; exec sleep 30"
"""


@pytest.fixture
def full_pipe() -> Iterator[int]:
    """Where to write to a pipe that is full, and that nobody reads."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 65536)
    os.set_blocking(writer, True)
    yield writer
    os.close(reader)
    os.close(writer)


def test_ctrl_c_while_the_key_is_fetched(shell: Shell) -> None:
    shell.config.write_text(SLOW_KEY)
    with shell.started(start_new_session=True) as process:
        wait_until_there(shell.folder / "started", process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it
        done = finished(process)
    assert done.code == 130
    assert "Traceback" not in done.err


def test_ctrl_c_while_the_help_is_written(shell: Shell, full_pipe: int) -> None:
    with shell.started("--help", stdout=full_pipe) as process:
        wait_until_it_writes(process)
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert done.code == 130
    assert done.err.strip() == ""


@pytest.mark.parametrize("arguments", [(), ("run", "Go")])
def test_a_system_file_that_is_no_plain_file_is_refused(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    """To open a FIFO would wait for a writer, and no signal would end that."""
    os.mkfifo(shell.folder / "fifo")
    done = shell.claw(
        *arguments, "--system-file", "fifo", CLAW_BASE_URL="http://127.0.0.1:9/v1", CLAW_MODEL="m"
    )
    assert done.code == 2
    assert done.err == "claw: --system-file fifo can't be read: it is no plain file\n"


def wait_until_there(file: Path, process: subprocess.Popen[bytes]) -> None:
    while not file.exists():
        assert process.poll() is None, process.communicate()


def wait_until_it_writes(process: subprocess.Popen[bytes]) -> None:
    """Until the process waits in the system call `write` (1 on x86-64, 64 on ARM)."""
    call = Path(f"/proc/{process.pid}/syscall")
    while call.read_text().split()[:2] not in (["1", "0x1"], ["64", "0x1"]):
        assert process.poll() is None, process.communicate()
