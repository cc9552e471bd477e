"""A confined command runs, ends and is ended as one that isn't."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Iterator

import pytest

from claw.cancel import CancelToken
from claw.tools.sandbox.base import Inside
from tests.support.processes import alive, gone_within
from tests.tools.sandbox.conftest import OpenBox, Places, SandboxedToolbox


@pytest.fixture
def plain(open_box: OpenBox) -> SandboxedToolbox:
    return open_box("none")


@pytest.mark.parametrize(
    "command",
    [
        "exit 3",
        "kill -SEGV $$",
        "kill -TERM $$",
        "no-such-program",
        "exec /dev/null",
        "pwd; echo $0 $#",
        "cat; (: < /dev/tty) 2>/dev/null || echo no terminal",
        "yes | head -1; echo ${PIPESTATUS[0]}",
        "printf '\\377\\n'; echo err >&2; echo out",
        "echo x > /dev/stdout; echo y > /dev/stderr; echo z > /dev/fd/1",
        "ulimit -n; umask",
        "trap",
        "echo é $'\\u00e9'",
    ],
)
def test_nothing_else_is_different(
    confined: SandboxedToolbox, plain: SandboxedToolbox, command: str
) -> None:
    def ran(box: SandboxedToolbox) -> tuple[object, list[str]]:
        result = box.call("bash", command=command)
        lines = result.content.splitlines()[1:]
        hint = bool(lines) and lines[-1].startswith("(it may be the sandbox")
        return result.details["exit_code"], lines[:-2] if hint else lines

    assert ran(confined) == ran(plain)


def test_the_environment_is_the_same_but_for_temporary_files(
    confined: SandboxedToolbox, plain: SandboxedToolbox
) -> None:
    def variables(box: SandboxedToolbox) -> set[str]:
        names = ("TMPDIR=", "CLAW_", "PWD=", "OLDPWD=", "SHLVL=", "_=")
        return {line for line in box.output("env").splitlines() if not line.startswith(names)}

    for box in (confined, plain):
        box.env = {"PATH": os.environ["PATH"], "LANG": "C", "ODD": "\udcff", "HOME": "/nonexistent"}
    assert variables(confined) == variables(plain)


def test_a_background_process_is_named_left_and_ended_with_the_session(
    confined: SandboxedToolbox,
) -> None:
    began = time.monotonic()
    text = confined.text("bash", command="sleep 400.51 & echo hi")
    assert time.monotonic() - began < 3
    assert "\nstill running, until the session ends: sleep 400.51 (pid " in text
    assert "bwrap" not in text
    confined.text("bash", command="true")
    assert alive("400.51")
    confined.close()
    assert gone_within(0.5, "400.51")


def test_it_outlives_the_thread_that_started_it(confined: SandboxedToolbox) -> None:
    """A death signal of the parent's would come at the end of that thread."""
    thread = threading.Thread(
        target=confined.text, args=("bash",), kwargs={"command": "setsid sleep 400.52 &"}
    )
    thread.start()
    thread.join()
    assert alive("sleep 400.52")
    confined.close()
    assert gone_within(0.5, "400.52")


def test_a_command_that_leaves_nothing_is_said_to_leave_nothing(
    confined: SandboxedToolbox,
) -> None:
    for _ in range(10):
        assert "still running" not in confined.text("bash", command="true")


@pytest.mark.parametrize(
    "command",
    [
        "echo before; sleep 400.53",
        "echo before; trap '' TERM; sleep 400.53 & wait; sleep 400.53",
        "echo before; setsid sleep 400.53 & sleep 400.53",
        "(trap '' TERM; exec setsid sleep 400.53) >/dev/null & echo before; sleep 400.53",
    ],
)
def test_a_timeout_ends_everything(confined: SandboxedToolbox, command: str) -> None:
    began = time.monotonic()
    result = confined.call("bash", command=command, timeout_s=0.5)
    assert time.monotonic() - began < 2.5
    assert result.content.startswith("timed out after 0.5 s and was ended")
    assert result.content.endswith("before\n")
    assert gone_within(0.5, "400.53")


def test_last_words_on_term_are_heard(confined: SandboxedToolbox) -> None:
    command = "trap 'echo bye; exit 7' TERM; echo hi; sleep 400.54 & wait"
    result = confined.call("bash", command=command, timeout_s=0.5)
    assert result.content.endswith("hi\nbye\n")
    assert gone_within(0.5, "400.54")


def latencies(box: SandboxedToolbox, count: int) -> Iterator[float]:
    """Seconds from a cancel to the result."""
    for _ in range(count):
        token, instants = CancelToken(), []
        box.live.clear()

        def cancel(token: CancelToken = token, instants: list[float] = instants) -> None:
            box.live.wait_for("go")
            instants.append(time.monotonic())
            token.cancel("interrupt")

        canceller = threading.Thread(target=cancel)
        canceller.start()
        result = box.call("bash", token, command="echo go; sleep 400.55")
        ended = time.monotonic()
        canceller.join()
        assert result.content.startswith("interrupted")
        yield ended - instants[0]


def test_a_cancel_is_answered_at_once(confined: SandboxedToolbox) -> None:
    assert statistics.median(latencies(confined, 5)) < 0.2
    assert gone_within(0.5, "400.55")


@pytest.mark.stress
def test_two_hundred_cancels(confined: SandboxedToolbox) -> None:
    assert sorted(latencies(confined, 200))[197] < 0.2
    assert gone_within(0.5, "400.55")


@pytest.mark.stress
def test_three_hundred_commands_leave_nothing(confined: SandboxedToolbox) -> None:
    for number in range(300):
        assert confined.output(f"echo {number}") == f"{number}\n"
    assert not alive("bwrap --")


def test_a_job_runs_inside(confined: SandboxedToolbox, places: Places) -> None:
    command = f"echo on; touch {places.out}/f; sleep 400.56"
    confined.text("bash", command=command, background=True)
    text = confined.text("job", action="read", id=1, wait_s=0.5)
    assert "on\n" in text
    assert "touch: " in text
    assert "bwrap" not in confined.text("job", action="end", id=1)
    assert gone_within(0.5, "400.56")
    assert not (places.out / "f").exists()


def test_the_cost_of_a_command(confined: SandboxedToolbox) -> None:
    argv = confined.sandbox.command(Inside(["true"], confined.root))
    began = time.monotonic()
    for _ in range(5):
        assert os.spawnv(os.P_WAIT, argv[0], argv) == 0
    assert (time.monotonic() - began) / 5 < 0.5
