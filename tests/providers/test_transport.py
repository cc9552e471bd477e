"""What goes over the wire and what doesn't: connections, redirects, proxies, keys, clocks."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from claw.cancel import CancelToken
from claw.errors import (
    ConfigError,
    ConnectError,
    ConnectionLost,
    ProviderError,
    ReadTimeout,
    StreamStalled,
)
from claw.events import Completed, Failed, Retrying, StreamEvent, TextDelta
from claw.providers.openai_chat import OpenAIChat
from tests.support import wire
from tests.support.asking import Asking, ask, ask_for
from tests.support.peer import STREAM, Peer, Request
from tests.support.routes import ROUTES, Route
from tests.support.server import (
    Server,
    after_done_silence,
    close_at_once,
    cut_after,
    drip,
    headers_then_silence,
    late_end,
    never_answer,
    one_delta_then_silence,
    reply,
    serve,
    status,
    stream,
    unanswered_port,
)

KEY = "sk-test-0123456789"


@pytest.fixture(autouse=True)
def nothing_of_this_machine_s_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


Chat: TypeAlias = Callable[..., OpenAIChat]


@pytest.fixture
def chat() -> Iterator[Chat]:
    """Makes providers for a server or a URL, without retries, and closes them at the end."""
    with ExitStack() as stack:

        def make(server: Server | str, **options: Any) -> OpenAIChat:
            base_url = server if isinstance(server, str) else server.url
            provider = OpenAIChat("m", base_url=base_url, **{"max_retries": 0, **options})
            stack.callback(provider.close)
            return provider

        yield make


def text_of(events: list[StreamEvent]) -> str:
    last = events[-1]
    assert isinstance(last, Completed), last
    return last.message.text


def error_of(events: list[StreamEvent]) -> ProviderError:
    last = events[-1]
    assert isinstance(last, Failed), last
    assert isinstance(last.error, ProviderError)
    return last.error


# --- connections --------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_a_connection_is_used_again(route: Route) -> None:
    with route.to(reply("Hello")) as (provider, server):
        for _ in range(3):
            assert text_of(ask(provider)) == "Hello"
        assert len(server.peers) == 1
        assert [request.number_on_connection for request in server.requests][-3:] == (
            [2, 3, 4] if route.reused else [1, 2, 3]
        )


def test_the_last_chunk_may_come_a_little_late(chat: Chat) -> None:
    with serve(late_end(0.02)) as server:
        provider = chat(server)
        ask(provider)
        ask(provider)
        assert len(server.peers) == 1


def test_an_end_that_never_comes_costs_the_connection_and_not_the_reply(chat: Chat) -> None:
    with serve(after_done_silence) as server:
        provider = chat(server)
        start = time.monotonic()
        assert text_of(ask(provider)) == "Hello"
        assert time.monotonic() - start < 0.5
        server.wait_disconnect()


def test_completed_comes_before_the_rest_of_the_body_is_waited_for(chat: Chat) -> None:
    with serve(after_done_silence) as server:
        events = chat(server).stream(ask_for("Hi"), CancelToken())
        start = time.monotonic()
        kinds = [next(events).type, next(events).type]
        assert kinds == ["text_delta", "completed"]
        assert time.monotonic() - start < 0.04
        assert list(events) == []


def test_closing_the_iterator_ends_the_request(chat: Chat) -> None:
    with serve(one_delta_then_silence) as server:
        events = iter(chat(server).stream(ask_for("Hi"), CancelToken()))
        assert next(events) == TextDelta("Hel")
        events.close()
        server.wait_disconnect()


def test_twenty_threads_share_a_provider(chat: Chat) -> None:
    with serve(drip("Hello", 0.002)) as server:
        provider = chat(server)
        with ThreadPoolExecutor(20) as pool:
            texts = list(pool.map(lambda _: text_of(ask(provider)), range(60)))
        assert texts == ["Hello"] * 60
        assert len(server.peers) <= 20


def test_a_forked_child_opens_its_own_connection(chat: Chat) -> None:
    with serve(reply("Hello")) as server:
        provider = chat(server)
        ask(provider)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if text_of(ask(provider)) == "Hello" else 1
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert text_of(ask(provider)) == "Hello"
        assert len(server.peers) == 2


def test_a_provider_can_be_pickled(chat: Chat) -> None:
    with serve(reply("Hello")) as server:
        provider = chat(server)
        ask(provider)
        copy = pickle.loads(pickle.dumps(provider))
        assert text_of(ask(copy)) == "Hello"
        copy.close()


def test_closing_a_provider_closes_its_connections_and_no_more(chat: Chat) -> None:
    with serve(reply("Hello")) as server:
        provider = chat(server)
        ask(provider)
        provider.close()
        server.wait_disconnect()
        assert text_of(ask(provider)) == "Hello"


# --- what is sent where -------------------------------------------------------------------------


def test_the_key_and_the_headers_are_sent(chat: Chat) -> None:
    with serve(reply("Hello")) as server:
        ask(chat(server, api_key=KEY, headers={"X-Title": "two words", "user-agent": "mine"}))
        headers = server.requests[0].headers
        assert headers["authorization"] == f"Bearer {KEY}"
        assert headers["x-title"] == "two words"
        assert headers["user-agent"] == "mine"
        assert headers["accept-encoding"] == "identity"
        assert server.requests[0].path == "/v1/chat/completions"


def test_without_a_key_no_authorization_is_sent(chat: Chat) -> None:
    with serve(reply("Hello")) as server:
        ask(chat(server))
        assert "authorization" not in server.requests[0].headers


def test_a_netrc_file_does_not_replace_the_key(
    chat: Chat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    with serve(reply("Hello")) as server:
        ask(chat(server, api_key=KEY))
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(chat: Chat, code: int) -> None:
    def redirect(peer: Peer, request: Request) -> None:
        peer.answer(code, "", Location=f"{elsewhere.url}/chat/completions")

    with serve(reply("never")) as elsewhere, serve(redirect) as server:
        error = error_of(ask(chat(server, api_key=KEY, max_retries=2)))
        assert "redirect" in error.message
        assert elsewhere.url in error.message
        assert elsewhere.requests == []
        assert len(server.requests) == 1


def test_a_key_that_the_server_repeats_is_masked(chat: Chat) -> None:
    with serve(status(401, f"Incorrect key {KEY}")) as server:
        error = error_of(ask(chat(server, api_key=KEY)))
        assert "Incorrect key" in error.message
        assert KEY not in str(error.to_dict())


def test_a_secret_header_is_masked_inside_a_stream_too(chat: Chat) -> None:
    said = wire.event({"error": {"message": f"bad token {KEY}"}})
    with serve(stream(said)) as server:
        events = ask(chat(server, headers={"X-Auth-Token": KEY}, max_retries=1))
        assert [type(event) for event in events] == [Retrying, Failed]
        assert KEY not in str([event.to_dict() for event in events])


# --- proxies and certificates -------------------------------------------------------------------


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_the_environment_s_proxy_is_used(
    chat: Chat, tls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(reply("Hello"), tls=tls, proxy=True) as proxy:
        monkeypatch.setenv("HTTPS_PROXY" if tls else "http_proxy", proxy.proxy_url)
        monkeypatch.setenv("SSL_CERT_FILE", proxy.ca_file)
        provider = chat("https://model.test/v1" if tls else "http://model.test/v1")
        assert text_of(ask(provider)) == "Hello"
        assert proxy.requests[0].via == ("CONNECT" if tls else "absolute")


def test_no_proxy_is_heeded(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(reply("no"), proxy=True) as proxy, serve(reply("yes")) as server:
        monkeypatch.setenv("http_proxy", proxy.proxy_url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert text_of(ask(chat(server))) == "yes"


def test_given_proxies_replace_the_environment_s(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(reply("no"), proxy=True) as proxy, serve(reply("yes")) as server:
        monkeypatch.setenv("http_proxy", proxy.proxy_url)
        assert text_of(ask(chat(server, proxies={}))) == "yes"
        assert proxy.requests == []


def test_the_environment_is_read_once(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(reply("Hello")) as server:
        provider = chat(server)
        ask(provider)
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        assert text_of(ask(provider)) == "Hello"


def test_a_socks_proxy_without_pysocks_says_what_to_install(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(ConfigError, match="pip install PySocks"):
        ask(chat("http://model.test/v1"))


def test_an_unknown_authority_is_told_with_the_way_out(chat: Chat) -> None:
    with serve(tls=True) as server:
        error = error_of(ask(chat(server, max_retries=2)))
        assert isinstance(error, ConnectError)
        assert not error.retryable
        assert "SSL_CERT_FILE" in error.message


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_environment_s_authority_is_trusted(
    chat: Chat, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(tls=True) as server:
        monkeypatch.setenv(variable, server.ca_file)
        assert text_of(ask(chat(server))) == "Hello"


def test_an_authority_file_that_is_missing_is_named(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with pytest.raises(ConfigError, match=r"SSL_CERT_FILE.*/nowhere/ca\.pem"):
        ask(chat("https://127.0.0.1:9/v1"))


# --- clocks -------------------------------------------------------------------------------------


def test_a_server_that_never_answers(chat: Chat) -> None:
    with serve(never_answer) as server:
        error = error_of(ask(chat(server, idle_timeout=0.2)))
        assert isinstance(error, ReadTimeout)
        assert error.retryable
        assert "0.2 s" in error.message


def test_headers_and_no_reply(chat: Chat) -> None:
    with serve(headers_then_silence) as server:
        assert isinstance(error_of(ask(chat(server, idle_timeout=0.2))), ReadTimeout)


def test_a_reply_that_stops(chat: Chat) -> None:
    with serve(one_delta_then_silence) as server:
        error = error_of(ask(chat(server, idle_timeout=0.2)))
        assert isinstance(error, StreamStalled)
        assert error.retryable


def pings_for_ever(peer: Peer, request: Request) -> None:
    peer.start_stream()
    peer.chunk(wire.text("Hel"))
    while True:
        peer.chunk(b": ping\n\n")
        peer.hold(0.05)


def test_pings_are_signs_of_life_but_no_progress(chat: Chat) -> None:
    with serve(pings_for_ever) as server:
        start = time.monotonic()
        error = error_of(ask(chat(server, idle_timeout=0.2, progress_timeout=0.5)))
        assert isinstance(error, StreamStalled)
        assert "signs of life" in error.message
        assert 0.5 <= time.monotonic() - start < 1


def test_the_progress_clock_starts_again_with_each_piece(chat: Chat) -> None:
    with serve(drip("Hello", 0.1)) as server:
        events = ask(chat(server, idle_timeout=5, progress_timeout=0.3))
        assert text_of(events) == "Hello"


def test_a_connect_that_is_not_answered(chat: Chat) -> None:
    with unanswered_port() as port:
        start = time.monotonic()
        error = error_of(ask(chat(f"http://127.0.0.1:{port}/v1", connect_timeout=0.2)))
        assert isinstance(error, ConnectError)
        assert error.retryable
        assert 0.2 <= time.monotonic() - start < 1


def test_a_handshake_that_stalls(chat: Chat) -> None:
    with serve(tls=True, stall_handshake=True) as server:
        error = error_of(ask(chat(server, connect_timeout=0.2)))
        assert isinstance(error, ConnectError)
        assert "0.2 s" in error.message


def test_a_look_up_that_takes_too_long(chat: Chat) -> None:
    free = os.pipe()

    def hang(*unused: object, **options: object) -> list[tuple[object, ...]]:
        os.read(free[0], 1)
        return []

    error = error_of(ask(chat("http://model.test/v1", connect_timeout=0.2, resolver=hang)))
    assert isinstance(error, ConnectError)
    os.write(free[1], b"x")
    for end in free:
        os.close(end)


def test_a_dead_address_leaves_time_for_the_next(chat: Chat) -> None:
    with unanswered_port() as dead, serve(reply("Hello")) as server:

        def two(host: str, port: int, **options: int) -> list[tuple[object, ...]]:
            return [(2, 1, 6, "", ("127.0.0.1", dead)), (2, 1, 6, "", ("127.0.0.1", server.port))]

        provider = chat("http://model.test/v1", connect_timeout=0.5, resolver=two)
        assert text_of(ask(provider)) == "Hello"


def test_a_long_request_has_more_time_than_a_connect(chat: Chat) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        asking = Asking(chat(url, connect_timeout=0.2), words="x" * 20_000_000)
        client, _ = listener.accept()
        with client, client.makefile("rb") as received:
            asking.join(0.5)  # it is stuck in the send for that long
            received.read(20_000_000)
            body = b"".join(wire.text_reply("Hello"))
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            asking.wait_for_end()
    assert text_of(asking.events) == "Hello"


def test_a_deadline_bounds_the_connect_too(chat: Chat) -> None:
    with unanswered_port() as port:
        start = time.monotonic()
        events = ask(chat(f"http://127.0.0.1:{port}/v1"), cancel=CancelToken(timeout=0.2))
        assert events == []
        assert time.monotonic() - start < 1


# --- bodies -------------------------------------------------------------------------------------


def test_a_compressed_body_is_read(chat: Chat) -> None:
    def compressed(peer: Peer, request: Request) -> None:
        body = gzip.compress(b"".join(wire.text_reply("Hello")))
        peer.answer(200, body, Content_Encoding="gzip", Content_Type="text/event-stream")

    with serve(compressed) as server:
        assert text_of(ask(chat(server))) == "Hello"


@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_an_event_is_shown_as_soon_as_it_is_there(chat: Chat, tls: bool, gzipped: bool) -> None:
    """In a chunk of its own, and in one of which the rest comes later."""
    shown, waits = threading.Semaphore(0), list[bool]()
    squeeze = zlib.compressobj(wbits=31)

    def coded(*events: bytes) -> bytes:
        data = b"".join(events)
        return squeeze.compress(data) + squeeze.flush(zlib.Z_SYNC_FLUSH) if gzipped else data

    def answer(peer: Peer, request: Request) -> None:
        peer.send(wire.http_head(200, [*STREAM, *([("Content-Encoding", "gzip")] * gzipped)]))
        alone, early, late = (coded(wire.text(word)) for word in ("Hel", "lo", "!"))
        both = wire.http_chunk(early + late)
        begin = both[: both.index(late)]
        for part in (wire.http_chunk(alone), begin, both[len(begin) :]):
            peer.send(part)
            waits.append(shown.acquire(timeout=5))
        peer.chunk(coded(wire.chunk({}, "stop"), wire.DONE))
        peer.end_stream()

    with serve(answer, tls=tls) as server:
        texts = []
        for event in chat(server, verify=server.ca_file or True).stream(
            ask_for("Hi"), CancelToken()
        ):
            if isinstance(event, TextDelta):
                texts.append(event.text)
                shown.release()
    assert texts == ["Hel", "lo", "!"]
    assert waits == [True] * 3


BROKEN = {"no size": b"data\r\n", "too long": b"5\r\nabcdef\r\n", "a sign": b"-1\r\n"}


@pytest.mark.parametrize("framing", BROKEN.values(), ids=BROKEN)
def test_broken_framing_is_a_broken_connection(chat: Chat, framing: bytes) -> None:
    def broken(peer: Peer, request: Request) -> None:
        peer.start_stream()
        peer.send(wire.http_chunk(wire.text("Hel")) + framing)
        peer.hold()

    with serve(broken) as server:
        events = ask(chat(server, max_retries=2))
        assert events[0] == TextDelta("Hel")
        assert isinstance(error_of(events), ConnectionLost)
        server.wait_disconnect()


def test_framing_that_breaks_behind_a_whole_reply_costs_only_the_connection(chat: Chat) -> None:
    def broken_at_the_end(peer: Peer, request: Request) -> None:
        peer.start_stream()
        peer.send(b"".join(map(wire.http_chunk, wire.text_reply("Hello"))) + b"zero\r\n")
        peer.hold()

    with serve(broken_at_the_end) as server:
        assert text_of(ask(chat(server))) == "Hello"
        server.wait_disconnect()


def test_a_connection_that_breaks_is_told_with_whose_fault_it_is(chat: Chat) -> None:
    with serve(cut_after(wire.text("Hel"))) as server:
        events = ask(chat(server, max_retries=2))
        assert [type(event) for event in events] == [TextDelta, Failed]
        assert isinstance(error_of(events), ConnectionLost)
        assert len(server.requests) == 1


def test_a_failure_before_the_first_event_is_tried_again(chat: Chat) -> None:
    with serve(close_at_once, status(503, "busy", Retry_After="0"), reply("Hello")) as server:
        events = ask(chat(server, max_retries=2))
        assert [type(event) for event in events[:2]] == [Retrying, Retrying]
        assert text_of(events) == "Hello"
        assert len(server.requests) == 3


def test_what_a_server_repeats_for_ever_is_read_only_so_far(chat: Chat) -> None:
    def endless_error(peer: Peer, request: Request) -> None:
        peer.send(b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            peer.chunk(b"no " * 1000)

    with serve(endless_error) as server:
        error = error_of(ask(chat(server)))
        assert len(str(error.to_dict())) < 5000
        server.wait_disconnect()
