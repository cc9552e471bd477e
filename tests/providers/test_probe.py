"""A probe finds out what a server speaks and how it bends the protocol, by asking it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

from claw.cancel import CancelToken
from claw.errors import Cancelled, ConnectError
from claw.providers.probe import Finding, Target, Verdict, changed, probe
from claw.providers.probe.line import base_urls
from claw.providers.quirks import Quirks
from tests.support.bent import BENDS, PATHS, bent, call, call_delta, two, usual_calls
from tests.support.playing import playing
from tests.support.probing import found, probed, report_on
from tests.support.server import (
    Behaviour,
    Peer,
    Request,
    headers_then_silence,
    never_answer,
    serve,
)
from tests.support.wire import chunk

COPES, QUIRK, FAULT = Verdict.COPES, Verdict.QUIRK, Verdict.FAULT


# --- a server in good order ---------------------------------------------------------------------


def test_of_a_server_in_good_order_there_is_nothing_to_mend() -> None:
    report = report_on(bent())
    assert report.usable
    assert (report.dialect, report.model) == ("openai", "m1")
    assert report.models == ("embed-1", "m1", "m2")
    assert changed(report.quirks) == {}
    odd = {f.what: f for f in report.findings if f.verdict is not Verdict.OK}
    assert odd.keys() == {"thinking"}, odd
    assert report.findings[-1] == Finding("verdict", "claw can use it")
    assert {"first byte", "streaming", "usage", "tool calls", "output limit", "errors"} <= {
        finding.what for finding in report.findings
    }


def test_a_report_can_be_told_as_json() -> None:
    report = report_on(bent())
    told = json.loads(json.dumps(report.to_dict()))
    assert told["usable"]
    assert told["findings"][0] == {"what": "base URL", "found": report.base_url, "verdict": "ok"}


def test_findings_are_told_as_they_come() -> None:
    told: list[Finding] = []
    with serve(bent()) as server:
        report = probe(Target(server.url), CancelToken(timeout=30), told.append)
    assert tuple(told) == report.findings


def test_the_key_goes_along_and_is_never_told() -> None:
    secret = "sk-very-secret-key"
    assert report_on(bent(key=secret), api_key=secret).usable
    wrong = report_on(bent(key=secret), api_key="sk-another-secret")
    assert not wrong.usable
    assert found(wrong, "key").verdict is FAULT
    assert "secret" not in str(wrong.to_dict()) + repr(Target("http://x", secret))


# --- quirks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BENDS)
def test_a_bent_server_gets_the_quirks_that_suit_it(name: str) -> None:
    how, quirks = BENDS[name]
    report = report_on(bent(**how))
    assert changed(report.quirks) == quirks, report.findings
    assert report.usable
    assert any(finding.verdict is QUIRK for finding in report.findings)
    assert not [finding for finding in report.findings if finding.verdict is FAULT]


def test_every_quirk_but_the_wish_to_think_can_be_found() -> None:
    found_here = {name for _, quirks in BENDS.values() for name in quirks}
    assert found_here == {each.name for each in fields(Quirks)} - {"effort"}


def test_calls_that_get_mixed_up_are_asked_for_one_by_one() -> None:
    broken = [*usual_calls(), {"tool_calls": [{"index": 0, "function": {"arguments": "}{"}}]}]

    def behave(peer: Peer, request: Request) -> None:
        single = request.method == "POST" and request.body.get("parallel_tool_calls") is False
        bent(calls=usual_calls()[:1] if single else broken)(peer, request)

    assert changed(report_on(behave).quirks) == {"parallel_calls": False}


# --- oddities that claw copes with ----------------------------------------------------------------

LATE_ID = [call(0, PATHS[0], id=None), {"tool_calls": [{"index": 0, "id": "call_0"}]}]

ODD: Mapping[str, tuple[Mapping[str, Any], str, str]] = {
    "index missing": ({"calls": two({"index": None}, {"index": None})}, "tool calls", "index"),
    "index always 0": ({"calls": two({}, {"index": 0})}, "tool calls", "all calls have index 0"),
    "index from 1": ({"calls": [call(1, PATHS[0])]}, "tool calls", "begins at 1"),
    "no ids": ({"calls": two({"id": None}, {"id": None})}, "tool calls", "no ids"),
    "one id": ({"calls": two({"id": "x"}, {"id": "x"})}, "tool calls", "share an id"),
    "late id": ({"calls": LATE_ID}, "tool calls", "late"),
    "finish stop": ({"finish": "stop"}, "tool calls", "finish reason stop"),
    "object": (
        {"calls": [call(0, "", function={"name": "read_file", "arguments": {"path": "a.txt"}})]},
        "tool calls",
        "as an object",
    ),
    "no usage": ({"usage": False}, "usage", "none"),
    "no end mark": ({"done": False}, "end of a reply", "no [DONE]"),
    "no stream": ({"streams": False}, "streaming", "one JSON answer"),
}


@pytest.mark.parametrize("name", ODD)
def test_what_claw_copes_with_is_told_and_needs_no_quirk(name: str) -> None:
    how, what, words = ODD[name]
    report = report_on(bent(**how))
    assert words in found(report, what).found
    assert found(report, what).verdict is COPES
    assert changed(report.quirks) == {}


def test_a_hiccup_is_no_quirk() -> None:
    failed = []

    def behave(peer: Peer, request: Request) -> None:
        if request.method == "POST" and "tools" in request.body and not failed:
            failed.append(request)
            peer.error(500, "overloaded for a moment")
        else:
            bent()(peer, request)

    report = report_on(behave)
    assert failed
    assert changed(report.quirks) == {}


def test_a_key_that_the_server_echoes_is_masked() -> None:
    secret = "sk-very-secret-key"
    echo = bent(said=[{"content": f"Your key is {secret}."}], calls=[{"content": secret}])
    report = report_on(echo, api_key=secret)
    assert "[key]" in found(report, "tool calls").found
    assert secret not in str(report.to_dict())


def test_a_limit_that_is_ignored_is_a_fault() -> None:
    finding = found(report_on(bent(keeps_limit=False)), "output limit")
    assert (finding.found, finding.verdict) == ("max_tokens is ignored", FAULT)


def test_a_reply_that_is_held_back_is_told() -> None:
    def behave(peer: Peer, request: Request) -> None:
        if request.method == "POST" and "17 + 25" in str(request.body):
            peer.hold(1.1)
        bent(said=[{"content": "word "}] * 5)(peer, request)

    assert "held back" in found(report_on(behave), "streaming").found


def test_a_slow_model_is_no_fault() -> None:
    def behave(peer: Peer, request: Request) -> None:
        if request.method == "GET":
            bent()(peer, request)
        peer.start_stream()
        peer.chunk(chunk({"content": "We"}))
        peer.hold()

    report = report_on(behave, seconds=1.5)
    assert report.usable
    assert FAULT not in [finding.verdict for finding in report.findings]


def test_values_of_a_wrong_type_do_no_harm() -> None:
    pieces = [
        {"tool_calls": 5},
        {"tool_calls": [{"index": "x", "id": ["y"], "function": {"name": 7, "arguments": 8}}]},
        {"tool_calls": [call_delta(0, PATHS[0]) | {"id": 7}]},
        {"content": {"a": 1}, "reasoning": 7},
    ]
    assert report_on(bent(calls=pieces)).usable


def test_thinking_is_named_by_its_field() -> None:
    report = report_on(bent(before=[{"reasoning": "Hm."}]))
    assert found(report, "thinking").found == "in reasoning"


CASES = {
    "tool-index-all-zero": "all calls have index 0",
    "tool-no-index-parallel": "index missing",
    "tool-id-absent": "no ids",
    "tool-id-late": "ids come late",
    "tool-id-repeated": "id repeated",
    "tool-name-split": "name in pieces",
    "tool-name-repeated": "name repeated",
    "args-object": "as an object",
    "args-double-encoded": "quoted twice",
    "args-trailing-comma": "can't be used",
    "finish-stop-with-tools": "finish reason stop",
    "finish-function-call": "old function_call",
    "usage-x-groq": "in x_groq",
    "json-body-whole-reply": "one JSON answer",
    "reasoning-content": "in reasoning_content",
    "reasoning-details": "reasoning_details",
    "html-body-200": "web page",
    "http-401": "401",
    "an-empty-input": "Messages",
    "an-redacted-thinking": "redacted_thinking",
}


@pytest.mark.parametrize("name", CASES)
def test_odd_shapes_of_real_servers_are_seen(name: str) -> None:
    with playing(name) as url:
        report = probed(url, model="m")
    assert CASES[name] in str([finding.found for finding in report.findings])


# --- where it is ----------------------------------------------------------------------------------


def test_a_missing_v1_is_found_and_told() -> None:
    with serve(bent()) as server:
        report = probed(server.url.removesuffix("/v1"))
        assert report.base_url == server.url
    assert report.usable
    assert "/v1 was missing" in found(report, "base URL").found


@pytest.mark.parametrize(
    ("given", "tried"),
    [
        ("http://h/v1/", ["http://h/v1"]),
        ("http://h", ["http://h", "http://h/v1"]),
        ("http://h/v1/chat/completions", ["http://h/v1"]),
        ("http://h/v1/models", ["http://h/v1"]),
        ("http://h/api", ["http://h/api", "http://h/api/v1", "http://h/v1"]),
        ("http://h/api/v3", ["http://h/api/v3"]),
    ],
)
def test_the_urls_that_are_tried(given: str, tried: list[str]) -> None:
    assert base_urls(given) == tried


def test_without_a_list_a_model_must_be_named() -> None:
    nameless = report_on(bent(models=None))
    assert "--model" in found(nameless, "models").found
    assert found(nameless, "verdict").found == "not known: no model was asked"
    assert not nameless.usable
    named = report_on(bent(models=None), model="m")
    assert named.usable
    assert found(named, "models").verdict is COPES


def test_where_nobody_listens_it_says_so() -> None:
    with pytest.raises(ConnectError, match="nothing listens"):
        probed("http://127.0.0.1:9/v1")


def test_another_path_on_the_same_host_is_found() -> None:
    with serve(bent()) as server:
        report = probed(server.url.replace("/v1", "/api"))
        assert report.base_url == server.url
    assert report.usable


# --- clocks and cancel ----------------------------------------------------------------------------


@pytest.mark.parametrize("silence", [never_answer, headers_then_silence])
def test_its_time_is_bounded(silence: Behaviour) -> None:
    start = time.monotonic()
    report = report_on(silence, model="m", seconds=0.5)
    assert time.monotonic() - start < 5
    assert found(report, "time").verdict is Verdict.UNKNOWN
    assert not report.usable


def test_a_cancel_ends_it_at_once() -> None:
    token = CancelToken(timeout=30)
    with serve(never_answer) as server:
        canceller = threading.Thread(
            target=lambda: (server.wait_request(), token.cancel("interrupt")), name="canceller"
        )
        canceller.start()
        start = time.monotonic()
        with pytest.raises(Cancelled) as caught:
            probe(Target(server.url, model="m"), token)
        canceller.join()
        server.wait_disconnect(2)
    assert caught.value.reason == "interrupt"
    assert time.monotonic() - start < 2
