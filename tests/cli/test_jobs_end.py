"""Background jobs end with the command, on every way out."""

from __future__ import annotations

import signal

import pytest

from tests.support.command import Shell, finished
from tests.support.peer import Peer, Request
from tests.support.processes import alive, gone_within
from tests.support.server import Behaviour, Turn, model, never_answer, serve

JOB = Turn("", (("c1", "bash", {"command": "trap '' TERM; sleep 403.01; :", "background": True}),))


def first_then(last: Behaviour) -> Behaviour:
    """The model starts a job, then does `last`."""
    first = model(JOB)

    def behave(peer: Peer, request: Request) -> None:
        (last if request.messages[-1]["role"] == "tool" else first)(peer, request)

    return behave


def test_when_the_run_is_over(shell: Shell) -> None:
    with serve(model(JOB, "Started.")) as server:
        done = shell.claw("run", "Go", "--approve", "all", CLAW_BASE_URL=server.url, CLAW_MODEL="m")
    assert (done.code, done.out) == (0, "Started.\n")
    assert "job 1 started" in done.err
    assert gone_within(0.5, "403.01")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("times", [1, 3])
def test_when_a_signal_ends_it(shell: Shell, number: signal.Signals, times: int) -> None:
    with serve(first_then(never_answer)) as server:
        variables = {"CLAW_BASE_URL": server.url, "CLAW_MODEL": "m"}
        with shell.started("run", "Go", "--approve", "all", variables=variables) as process:
            server.wait_request()
            server.wait_request()
            assert alive("403.01")
            for _ in range(times):
                process.send_signal(number)
            finished(process)
    assert gone_within(0.5, "403.01")
