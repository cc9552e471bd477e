"""run_process, as search and others use it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from claw.cancel import CancelToken
from claw.tools.process import ProcessResult, run_process
from claw.tools.process_groups import LiveGroups
from tests.support.processes import alive, gone_within


def run(
    *argv: str, cancel: CancelToken | None = None, **options: object
) -> tuple[bytes, ProcessResult]:
    pieces: list[bytes] = []
    options = {"on_output": pieces.append, **options}
    result = run_process(
        argv,
        cwd=Path("/"),
        env={"PATH": os.environ["PATH"]},
        cancel=cancel or CancelToken(),
        **options,  # type: ignore[arg-type]
    )
    return b"".join(pieces), result


def test_output_comes_whole_on_the_calling_thread_and_in_order() -> None:
    threads = set()
    data = []

    def take(piece: bytes) -> None:
        threads.add(threading.current_thread())
        data.append(piece)

    _, result = run("seq", "1", "100000", on_output=take)
    assert b"".join(data) == b"".join(b"%d\n" % n for n in range(1, 100_001))
    assert threads == {threading.current_thread()}
    assert (result.exit_code, result.stopped, result.still_running) == (0, None, ())


def test_the_environment_is_the_given_one_and_the_mark() -> None:
    output, _ = run("env")
    names = [line.split(b"=")[0] for line in output.splitlines()]
    assert names[0] == b"PATH"
    assert len(names) == 2
    assert names[1].startswith(b"CLAW_")


def test_a_program_that_is_not_there_leaves_nothing() -> None:
    with pytest.raises(FileNotFoundError):
        run("no-such-program-anywhere")


def test_what_on_output_raises_ends_the_child_and_comes_out() -> None:
    def fail(piece: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("sh", "-c", "echo; setsid sleep 400.31 & exec sleep 400.31", on_output=fail)
    assert gone_within(0.5, "400.31")


def test_cancel_from_on_output_ends_it_with_the_reason() -> None:
    token = CancelToken()
    _, result = run("yes", cancel=token, on_output=lambda data: token.cancel("enough"))
    assert result.stopped == "enough"
    assert result.exit_code == 128 + signal.SIGTERM


def test_last_words_on_term_are_heard() -> None:
    output, result = run(
        "bash", "-c", "trap 'echo bye; exit 7' TERM; echo hi; sleep 400.32 & wait", timeout=0.3
    )
    assert output == b"hi\nbye\n"
    assert (result.stopped, result.exit_code) == ("timeout", 7)
    assert result.duration_s >= 0.3
    assert gone_within(0.5, "400.32")


def test_who_left_the_group_is_named_when_ended() -> None:
    _, result = run("bash", "-c", "setsid sleep 400.33 & sleep 400.34", timeout=0.3)
    assert [each.command for each in result.ended] == ["sleep 400.33"]


def test_closing_the_groups_of_a_session_spares_those_of_another() -> None:
    mine, others = LiveGroups(), LiveGroups()
    _, first = run("bash", "-c", "sleep 400.35 >/dev/null &", groups=mine)
    _, second = run("bash", "-c", "sleep 400.36 >/dev/null &", groups=others)
    assert first.still_running
    assert second.still_running
    mine.close()
    assert gone_within(0.5, "400.35")
    assert alive("400.36")
    others.close()
    assert gone_within(0.5, "400.36")


def test_it_works_where_the_host_ignores_its_children() -> None:
    program = (
        "import signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from pathlib import Path; from claw.cancel import CancelToken\n"
        "from claw.tools.process import run_process\n"
        "run_process(['echo', 'hi'], cwd=Path('/'), env={}, cancel=CancelToken(),\n"
        "            on_output=sys.stdout.buffer.write)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=20)
    assert (found.stdout, found.stderr) == (b"hi\n", b"")


def test_many_at_once() -> None:
    results: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(run("echo", str(n))[0]))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(b"%d\n" % n for n in range(20))


def test_the_end_of_a_command_is_seen_without_delay() -> None:
    began = time.monotonic()
    for _ in range(10):
        run("true")
    assert time.monotonic() - began < 1.5
