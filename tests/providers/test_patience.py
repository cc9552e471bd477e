"""Answers that trickle in: whatever comes a byte at a time, the clocks and the deadline end it."""

from __future__ import annotations

import time
import zlib
from contextlib import closing
from typing import Any

import pytest

from claw import CancelToken, Engine, RunStatus, Session
from claw.errors import ConnectionLost, HTTPStatusError, ProviderError, ReadTimeout, StreamStalled
from claw.events import Completed, Failed, StreamEvent
from claw.providers.http_provider import HTTPProvider
from claw.providers.model_list import list_models
from claw.providers.openai_chat import OpenAIChat
from tests.support.asking import ask
from tests.support.server import Behaviour, raw, serve, trickle
from tests.support.wire import text_reply

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
FAILED = b"HTTP/1.1 500 No\r\nContent-Length: 60000\r\n\r\n"
GOOD = HEAD + b"\r\n" + b"".join(text_reply("Hello"))
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"  # RFC 1951, 3.2.4
HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def gzipped() -> Behaviour:
    """A body that never gives a byte once it is decoded: one empty block after the other."""
    start = zlib.compressobj(wbits=31).flush(zlib.Z_SYNC_FLUSH)
    return trickle(HEAD + b"Content-Encoding: gzip\r\n\r\n" + start, EMPTY_BLOCK)


TRICKLES: dict[str, Behaviour] = {
    "status line": trickle(b"HTTP/1.1 200 ", b"O"),
    "header": trickle(HEAD, b"X"),
    "headers": trickle(HEAD, b"X: y\r\n", every=0.05),
    "announcements": trickle(b"", b"HTTP/1.1 100 Continue\r\n\r\n", every=0.1),
    "body": trickle(HEAD + b"\r\n", b" "),
    "line": trickle(HEAD + b"\r\n", b"d"),
    "chunk size": trickle(CHUNKED + b"1;", b"x"),
    "trailers": trickle(CHUNKED + b"0\r\n", b"X: y\r\n", every=0.05),
    "gzip": gzipped(),
}
each_trickle = pytest.mark.parametrize("behaviour", TRICKLES.values(), ids=list(TRICKLES))


def error_of(events: list[StreamEvent]) -> ProviderError:
    last = events[-1]
    assert isinstance(last, Failed), last
    assert isinstance(last.error, ProviderError)
    return last.error


def chat(url: str, **options: Any) -> HTTPProvider:
    return OpenAIChat("m", base_url=url, **{"max_retries": 0, **options})


@each_trickle
def test_the_progress_clock_ends_it(behaviour: Behaviour) -> None:
    with (
        serve(behaviour) as server,
        closing(chat(server.url, idle_timeout=20, progress_timeout=0.3)) as provider,
    ):
        start = time.monotonic()
        assert isinstance(error_of(ask(provider)), ReadTimeout | StreamStalled)
        assert time.monotonic() - start < 3
        server.wait_disconnect()


@pytest.mark.parametrize("name", ["header", "line"])
def test_the_progress_clock_ends_it_over_tls(name: str) -> None:
    with serve(TRICKLES[name], tls=True) as server:
        options = {"verify": server.ca_file, "idle_timeout": 20, "progress_timeout": 0.3}
        with closing(chat(server.url, **options)) as provider:
            start = time.monotonic()
            assert isinstance(error_of(ask(provider)), ReadTimeout | StreamStalled)
            assert time.monotonic() - start < 3
            server.wait_disconnect()


def test_it_is_told_from_silence() -> None:
    with (
        serve(TRICKLES["header"]) as server,
        closing(chat(server.url, idle_timeout=20, progress_timeout=0.3)) as provider,
    ):
        assert "didn't come whole within 0.3 s" in error_of(ask(provider)).message


def test_of_an_error_as_much_is_told_as_comes_soon() -> None:
    with serve(trickle(FAILED, b"x")) as server, closing(chat(server.url)) as provider:
        start = time.monotonic()
        error = error_of(ask(provider))
        assert time.monotonic() - start < 6
        server.wait_disconnect()
    assert isinstance(error, HTTPStatusError)
    assert error.status == 500
    assert error.body == "x" * len(error.body) != ""


@pytest.mark.parametrize("behaviour", [*TRICKLES.values(), trickle(FAILED, b"x")])
def test_a_deadline_ends_it_where_the_caller_itself_reads(behaviour: Behaviour) -> None:
    with serve(behaviour) as server, closing(chat(server.url)) as provider:
        start, cancel = time.monotonic(), CancelToken(timeout=0.3)
        assert ask(provider, cancel=cancel) == []
        assert time.monotonic() - start < 1.5
        assert cancel.reason == "deadline"
        server.wait_disconnect()


def test_a_deadline_ends_a_run() -> None:
    with serve(trickle(FAILED, b"x")) as server, closing(chat(server.url)) as provider:
        result = Engine(provider).run(Session(), "Hi", cancel=CancelToken(timeout=0.3))
    assert result.status is RunStatus.DEADLINE


@pytest.mark.parametrize("behaviour", [*TRICKLES.values(), trickle(FAILED, b"x")])
def test_a_list_of_models_has_its_time(behaviour: Behaviour) -> None:
    with serve(behaviour) as server, closing(chat(server.url)) as provider:
        start = time.monotonic()
        with pytest.raises(ReadTimeout, match=r"within 0\.3 s"):
            list_models(provider, CancelToken(), timeout=0.3)
        assert time.monotonic() - start < 1.5


def test_a_proxy_that_never_gets_done_with_its_answer_is_given_up() -> None:
    with serve(trickle(b"HTTP/1.1 200 ", b"O")) as proxy:
        options: dict[str, Any] = {"proxies": {"all": proxy.proxy_url}, "connect_timeout": 0.3}
        with closing(chat("https://model.test/v1", **options)) as provider:
            start = time.monotonic()
            error_of(ask(provider))
            assert time.monotonic() - start < 3


# --- answers that only announce one -------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 20])
def test_early_hints_are_passed_over(count: int) -> None:
    with serve(raw(HINT * count + GOOD)) as server, closing(chat(server.url)) as provider:
        last = ask(provider)[-1]
    assert isinstance(last, Completed)
    assert last.message.text == "Hello"


def test_announcements_without_end_are_given_up() -> None:
    with serve(trickle(b"", HINT * 50, every=0)) as server, closing(chat(server.url)) as provider:
        error = error_of(ask(provider))
        server.wait_disconnect()
    assert isinstance(error, ConnectionLost)
    assert "only announcements" in error.message
