"""What fails at the server, as a user sees it: one line, whose fault it is, what to do."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.support.command import Shell
from tests.support.peer import Peer, Request
from tests.support.server import (
    Behaviour,
    close_at_once,
    cut_after,
    headers_then_silence,
    reply,
    serve,
    status,
)
from tests.support.wire import DONE, event, text

KEY = "sk-of-nobody-1234567890"
TOO_LONG = "This model's maximum context length is 8192 tokens, but 9000 were requested."


def quota(peer: Peer, request: Request) -> None:
    error = {"message": "You exceeded your current quota", "code": "insufficient_quota"}
    peer.answer(429, json.dumps({"error": error}).encode())


def page(code: int) -> Behaviour:
    return lambda peer, request: peer.answer(
        code, b"<html><head><title>Welcome</title></head><body>" + b"page " * 500
    )


def error_in_stream(peer: Peer, request: Request) -> None:
    peer.start_stream()
    peer.chunk(text("Half "))
    peer.chunk(event({"error": {"message": f"upstream lost, key {KEY}", "code": 400}}))
    peer.chunk(DONE)
    peer.end_stream()


@dataclass(frozen=True)
class Failure:
    """What the server does, the words a user needs, and how often it is asked."""

    behaviour: Behaviour
    words: tuple[str, ...]
    requests: int = 1
    kind: str = "http_status"


FAILURES = {
    "wrong key": Failure(
        status(401, f"Incorrect API key provided: {KEY}"), ("401", "Check the API key"), kind="auth"
    ),
    "no such model": Failure(
        status(404, "The model `m` does not exist"), ("`m` does not", "Check the model's name")
    ),
    "quota used up": Failure(
        quota, ("exceeded your current quota", "Waiting won't help", "billing"), kind="rate_limit"
    ),
    "a wait that is too long": Failure(
        status(429, "slow down", Retry_After="3600"),
        ("Too many requests", "asks to wait 3600 s"),
        kind="rate_limit",
    ),
    "overloaded": Failure(
        status(529, "Overloaded", **{"retry-after-ms": "5"}),
        ("overloaded", "try again later"),
        requests=3,
        kind="overloaded",
    ),
    "server's fault": Failure(
        status(500, "oops", **{"retry-after-ms": "5"}), ("The fault is the server's",), requests=3
    ),
    "prompt too long": Failure(
        status(400, TOO_LONG), ("too long for this model", "shorten it"), kind="context_length"
    ),
    "page with an error": Failure(
        page(404), ("no model server", "check the base URL", "claw doctor")
    ),
    "page in place of a reply": Failure(
        page(200), ("HTML page", "check the base URL", "claw doctor"), kind="protocol"
    ),
    "closed without a word": Failure(
        close_at_once, ("before it answered", "fault is the server's"), requests=3,
        kind="connection_lost",
    ),
    "cut": Failure(
        cut_after(text("Half ")), ("broke in the middle", "ask again"), kind="connection_lost"
    ),
    "error in the stream": Failure(
        error_in_stream, ("the server reported an error", "upstream lost, key [key]"),
        kind="server_reported",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_one_line_says_what_happened_and_what_to_do(shell: Shell, name: str) -> None:
    failure = FAILURES[name]
    with serve(failure.behaviour) as server:
        done = shell.claw(
            "run", "Do it", "--output", "json",
            CLAW_BASE_URL=server.url, CLAW_MODEL="m", CLAW_API_KEY=KEY,
        )  # fmt: skip
    assert done.code == 1, done
    (line,) = [line for line in done.err.splitlines() if line.startswith("claw: ")]
    for words in failure.words:
        assert words in line
    assert len(line) < 300
    assert "page page" not in done.err
    assert done.envelope["error"]["kind"] == failure.kind
    assert len(server.requests) == failure.requests
    assert done.err.count("trying again") == failure.requests - 1


@pytest.mark.parametrize("name", FAILURES)
def test_the_key_is_masked_wherever_something_is_written(shell: Shell, name: str) -> None:
    log = shell.folder / "claw.log"
    with serve(FAILURES[name].behaviour) as server:
        done = shell.claw(
            "run", "Do it", "--output", "jsonl", "--verbose", "--log-file", str(log),
            CLAW_BASE_URL=server.url, CLAW_MODEL="m", CLAW_API_KEY=KEY,
        )  # fmt: skip
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert done.code == 1
    assert KEY not in done.out + done.err + log.read_text()


def test_a_rate_limit_is_waited_for_as_told(shell: Shell) -> None:
    with serve(status(429, "slow down", Retry_After="1"), reply("Done")) as server:
        done = shell.claw("run", "Do it", CLAW_BASE_URL=server.url, CLAW_MODEL="m")
    assert (done.code, done.out) == (0, "Done\n")
    assert "slow down" in done.err
    assert "trying again in 1." in done.err


def test_a_server_that_goes_silent_ends_with_the_time_that_was_given(shell: Shell) -> None:
    with serve(headers_then_silence) as server:
        done = shell.claw(
            "run", "Do it", "--timeout", "0.5", CLAW_BASE_URL=server.url, CLAW_MODEL="m"
        )
    assert done.code == 3
    assert "the time is up (--timeout)" in done.err


def test_nobody_listens(shell: Shell) -> None:
    with serve() as server:
        url = server.url
    done = shell.claw("run", "Do it", CLAW_BASE_URL=url, CLAW_MODEL="m")
    assert done.code == 1
    assert "is the server running there?" in done.err


def test_what_a_server_refuses_is_left_out_and_told(shell: Shell) -> None:
    refuses = status(400, "Unrecognized request argument supplied: reasoning_effort")
    with serve(refuses, reply("Done")) as server:
        done = shell.claw(
            "run", "Do it", "--effort", "low", CLAW_BASE_URL=server.url, CLAW_MODEL="m"
        )
    assert (done.code, done.out) == (0, "Done\n")
    assert "trying again without reasoning_effort" in done.err
    assert [r.body.get("reasoning_effort") for r in server.requests] == ["low", None]
