"""What a probe says where something is wrong: it leads on, it blames nobody who did nothing, and it
never brings a key out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from claw.errors import ReadTimeout
from claw.providers.probe import Report, Verdict, changed
from claw.providers.probe.trouble import trouble
from tests.support.anthropic import STOP, block, body, end, head, tail
from tests.support.bent import PATHS, bent, call
from tests.support.probing import found, report_on
from tests.support.server import Behaviour, Peer, Request, close_at_once, status, stream
from tests.support.wire import DONE, chunk

COPES, FAULT = Verdict.COPES, Verdict.FAULT


def page(peer: Peer, request: Request) -> None:
    peer.answer(200, "<!doctype html><html><title>Welcome</title></html>")


def moved(peer: Peer, request: Request) -> None:
    peer.answer(308, "", Location=f"https://real.test{request.path}")


def listing(answer: Behaviour) -> Behaviour:
    """A server in good order, but for what it answers to the question for its models."""

    def behave(peer: Peer, request: Request) -> None:
        (answer if request.method == "GET" else bent())(peer, request)

    return behave


def talking(talk: Behaviour) -> Behaviour:
    """A server that lists its models, and answers every question like this."""

    def behave(peer: Peer, request: Request) -> None:
        (bent() if request.method == "GET" else talk)(peer, request)

    return behave


WRONG: Mapping[str, tuple[Behaviour, str, str]] = {
    "page": (page, "base URL", "is the path right?"),
    "error page": (
        lambda peer, request: peer.answer(404, "<html></html>"),
        "base URL",
        "a web page answers",
    ),
    "moved": (moved, "base URL", "redirects to https://real.test/v1"),
    "404": (status(404, "nothing here"), "base URL", "no model server there"),
    "429": (status(429, "slow down"), "server", "busy: "),
    "quota": (status(429, "You exceeded your current quota"), "server", "Waiting won't help"),
    "503": (status(503, "loading"), "server", "busy: "),
    "500": (lambda peer, request: peer.answer(500, "<html></html>"), "server", "the server's"),
    "401": (status(401, "who are you"), "key", "Check the API key"),
    "hangs up": (close_at_once, "server", "Does it want https://?"),
}


@pytest.mark.parametrize("model", ["", "m"])
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_the_one_finding_and_leads_on(name: str, model: str) -> None:
    behaviour, what, words = WRONG[name]
    report = report_on(behaviour, model=model)
    wrong, verdict = report.findings
    assert (wrong.what, wrong.verdict) == (what, FAULT)
    assert words in wrong.found
    assert f'see "{what}"' in verdict.found
    assert not report.usable
    # Advice for those who aren't looking at a doctor's table already.
    assert "claw doctor" not in wrong.found
    assert "--model" not in wrong.found


def test_silence_is_told_as_that() -> None:
    silent = ReadTimeout("h didn't list its models within 5 s")
    finding = trouble([silent], ["http://h/v1"])
    assert (finding.what, finding.verdict) == ("server", FAULT)
    assert "is it up" in finding.found


def test_a_page_is_told_by_its_title() -> None:
    assert 'a web page answers ("Welcome"), no model server' in report_on(page).findings[0].found


NO_LIST: Mapping[str, tuple[Behaviour, str]] = {
    "page": (page, "no list: an HTML page"),
    "404": (status(404), "no list: status 404"),
    "429": (status(429), "no list: status 429"),
    "503": (status(503), "no list: status 503"),
    "moved": (moved, "no list: status 308"),
    "another object": (
        lambda peer, request: peer.answer(200, '{"detail": "hi"}'),
        "gave no list of models, but hi",
    ),
}


@pytest.mark.parametrize("name", NO_LIST)
def test_without_a_list_a_server_is_fine_where_the_model_is_named(name: str) -> None:
    answer, words = NO_LIST[name]
    report = report_on(listing(answer), model="m1")
    assert report.usable
    assert words in found(report, "models").found
    assert found(report, "models").verdict is COPES
    assert FAULT not in [finding.verdict for finding in report.findings]


def test_a_model_that_isnt_there_is_told_as_that() -> None:
    def behave(peer: Peer, request: Request) -> None:
        if request.method == "POST" and "messages" in request.body:
            peer.error(404, "The model 'm9' does not exist")
        else:
            bent()(peer, request)

    report = report_on(behave, model="m9")
    assert "does not exist" in found(report, "model").found
    assert not report.usable


NEVER_ENDS = stream(chunk({"content": "All is "}), chunk({"content": "well."}), DONE)


def test_replies_without_a_finish_reason_cant_be_used() -> None:
    for report in (report_on(talking(NEVER_ENDS)), report_on(bent(finish=None))):
        assert not report.usable
        assert found(report, "verdict").verdict is FAULT
        faults = [each for each in report.findings if each.verdict is FAULT]
        assert "without a finish reason" in faults[0].found
        assert f'see "{faults[0].what}"' in faults[-1].found


def test_results_that_are_never_taken_cant_be_used() -> None:
    def no_results(body: Mapping[str, Any]) -> str:
        return "no" if any(each["role"] == "tool" for each in body["messages"]) else ""

    report = report_on(bent(check=no_results))
    assert not report.usable
    assert found(report, "tool results").verdict is FAULT


def test_a_limit_on_requests_in_the_middle_is_no_fault() -> None:
    def behave(peer: Peer, request: Request) -> None:
        if request.method == "POST" and "Read the files" in str(request.raw):
            peer.error(429, "one question a minute")
        else:
            bent()(peer, request)

    report = report_on(behave)
    assert report.usable
    assert FAULT not in [finding.verdict for finding in report.findings]
    assert "no tool call" in found(report, "verdict").found


def test_a_connection_gone_stale_is_blamed_for_no_question() -> None:
    """The server hangs up on each kept connection once, whatever it is asked then."""
    hung_up: set[bytes] = set()

    def behave(peer: Peer, request: Request) -> None:
        if request.number_on_connection > 1 and request.raw not in hung_up:
            hung_up.add(request.raw)
            peer.sock.close()
        else:
            bent()(peer, request)

    report = report_on(behave)
    assert len(hung_up) > 3
    odd = {f.what: f for f in report.findings if f.verdict is not Verdict.OK}
    assert odd.keys() == {"thinking"}, odd


def test_the_longest_reply_of_the_other_dialect_is_asked_for() -> None:
    """claw sends a limit there when the user sets none, so a run would meet the refusal."""
    asked = []

    def behave(peer: Peer, request: Request) -> None:
        if request.method == "GET" or not request.path.endswith("/messages"):
            peer.answer(404, "")
            return
        asked.append(limit := request.body["max_tokens"])
        if limit > 4096:
            peer.error(400, f"max_tokens: {limit} > 4096, which is the maximum allowed")
            return
        peer.start_stream()
        peer.chunk(body(head(input_tokens=9), block(0, "text", text="Hi"), end(0)))
        peer.chunk(body(tail("end_turn", output_tokens=2), STOP))
        peer.end_stream()

    report = report_on(behave, model="m")
    assert report.usable, report.findings
    assert changed(report.quirks) == {"output_limit": 4096}
    assert "4,096 tokens" in found(report, "longest reply").found
    assert sorted(asked)[-2:] == [4096, 8192]


# --- the key --------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["sk-very-secret-key", "hunter2", "abc"])
def test_no_word_of_a_server_brings_the_key_out(key: str) -> None:
    """Whatever its length: in the names of models, in replies, finish reasons, errors."""
    echoes = [
        bent(models=[f"m {key}"], said=[{"content": key}], calls=[{"content": f"It's {key}!"}]),
        bent(models=["m", key], finish=f"stop-{key}"),
        bent(refuses=["messages"], models=[key]),
        status(401, f"wrong key: {key}"),
        status(429, f"'{key}' asks too often"),
        talking(status(500, f"{key} broke it")),
        talking(lambda peer, request: peer.answer(200, f'{{"odd": "{key}"}}')),
        bent(check=lambda body: f"not with {key}"),
        bent(calls=[call(0, PATHS[0], function={"name": "read_file", "arguments": f"{key}"})]),
    ]
    for echo in echoes:
        for model in ("", "m1"):
            report = report_on(echo, api_key=key, model=model)
            assert key not in str(report.to_dict()), report.findings
    assert "[key]" in str(report_on(echoes[0], api_key=key).to_dict())


def test_a_short_key_garbles_nothing() -> None:
    usual = told_of(report_on(bent()))
    for key in ("none", "a", "tokens", "reason"):
        assert told_of(report_on(bent(), api_key=key)) == usual


def told_of(report: Report) -> list[str]:
    """What is found, without addresses and times."""
    measured = ("base URL", "first byte")
    return [finding.found for finding in report.findings if finding.what not in measured]
