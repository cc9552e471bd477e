"""Every way out of `claw run`: its exit code, its envelope, and one line that says why."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.command import Finished, Shell, finished
from tests.support.server import (
    Behaviour,
    Turn,
    cut_after,
    model,
    never_answer,
    one_delta_then_silence,
    reply,
    serve,
    status,
    stream,
)
from tests.support.wire import DONE, chunk, text

MODES = ("text", "json", "jsonl")


def ends_with(reason: str) -> Behaviour:
    return stream(text("Half an"), chunk({}, reason), DONE)


def bash(command: str, number: int = 1) -> Turn:
    return Turn(calls=((f"call_{number}", "bash", {"command": command}),))


@dataclass(frozen=True)
class Way:
    """A way of ending: what the server does, how claw is called, and what must come of it."""

    behaviour: Callable[[], Behaviour]
    code: int
    status: str
    arguments: tuple[str, ...] = ()
    out: str = ""
    err: str = ""


WAYS = {
    "completed": Way(lambda: reply("All ", "done"), 0, "completed", out="All done\n"),
    "after a tool": Way(
        lambda: model(bash("echo hi"), "It says hi"),
        0,
        "completed",
        ("--approve", "all"),
        out="It says hi\n",
    ),
    "output limit": Way(lambda: ends_with("length"), 3, "truncated", out="Half an\n"),
    "filter": Way(lambda: ends_with("content_filter"), 3, "refused", out="Half an\n"),
    "max steps": Way(
        lambda: model(bash("echo hi")), 3, "max_steps", ("--max-steps", "1", "--approve", "all")
    ),
    "deadline": Way(lambda: never_answer, 3, "deadline", ("--timeout", "0.5")),
    "loop": Way(
        lambda: model(*[bash("echo hi", number) for number in range(4)]),
        3,
        "loop",
        ("--approve", "all"),
    ),
    "nobody to ask": Way(lambda: model(bash("rm -rf x")), 4, "needs_approval", err="--approve all"),
    "wrong key": Way(lambda: status(401, "bad key"), 1, "error", err="CLAW_API_KEY"),
    "unknown model": Way(lambda: status(404, "no such model: m"), 1, "error", err="no such model"),
    "cut": Way(lambda: cut_after(text("Hel")), 1, "error", out="Hel\n"),
    "config": Way(
        lambda: reply("never asked"), 2, "error", ("--system-file", "missing"), err="missing"
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WAYS)
def test_each_way_out_in_each_mode(shell: Shell, name: str, mode: str) -> None:
    way = WAYS[name]
    with serve(way.behaviour()) as server:
        done = shell.claw(
            "run", "Do it", "--output", mode, *way.arguments,
            CLAW_BASE_URL=server.url, CLAW_MODEL="m",
        )  # fmt: skip
    assert done.code == way.code, done
    assert way.err in done.err
    assert "Traceback" not in done.err
    check_output(done, mode, way.status, way.out)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_end_a_run_in_good_order(
    shell: Shell, number: signal.Signals, code: int, mode: str
) -> None:
    with serve(one_delta_then_silence) as server:
        variables = {"CLAW_BASE_URL": server.url, "CLAW_MODEL": "m"}
        with shell.started("run", "Do it", "--output", mode, variables=variables) as process:
            server.wait_request()
            process.send_signal(number)
            done = finished(process)
        server.wait_disconnect(2)
    assert done.code == code, done
    assert "Traceback" not in done.err
    if mode == "text":
        assert done.out in ("", "Hel\n")
    else:
        check_output(done, mode, "cancelled", "")


def check_output(done: Finished, mode: str, status: str, out: str) -> None:
    if mode == "text":
        assert done.out == out
    elif mode == "json":
        assert done.envelope["status"] == status
    else:
        assert done.events[-1]["status"] == status
