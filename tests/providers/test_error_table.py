"""From statuses and broken networks to claw's errors, in words for people."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import responses

from claw.errors import (
    AuthError,
    ConnectError,
    ConnectionLost,
    ContextLengthError,
    HTTPStatusError,
    OverloadedError,
    ProtocolError,
    ProviderError,
    RateLimitError,
)
from claw.events import Failed
from claw.providers.openai_chat import OpenAIChat
from tests.support.asking import Asking, ask
from tests.support.peer import Peer, Request
from tests.support.server import close_at_once, serve

URL = "http://model.test/v1"


def error_from(provider: OpenAIChat) -> ProviderError:
    *_, last = ask(provider)
    provider.close()
    assert isinstance(last, Failed)
    assert isinstance(last.error, ProviderError)
    assert "\n" not in last.error.message
    return last.error


def answered(status: int, **answer: Any) -> ProviderError:
    """The error for an answer with this status."""
    with responses.RequestsMock() as mock:
        mock.post(f"{URL}/chat/completions", status=status, **answer)
        return error_from(OpenAIChat("m", base_url=URL, max_retries=0))


@pytest.mark.parametrize(
    ("status", "kind", "retryable", "advice"),
    [
        (400, HTTPStatusError, False, "refused"),
        (401, AuthError, False, "API key"),
        (402, HTTPStatusError, False, "money"),
        (403, AuthError, False, "key"),
        (404, HTTPStatusError, False, "model's name and the base URL"),
        (405, HTTPStatusError, False, "base URL"),
        (408, HTTPStatusError, True, ""),
        (409, HTTPStatusError, True, ""),
        (413, HTTPStatusError, False, "too big"),
        (422, HTTPStatusError, False, "refused"),
        (429, RateLimitError, True, "wait"),
        (500, HTTPStatusError, True, "server's"),
        (501, HTTPStatusError, False, "server's"),
        (502, HTTPStatusError, True, "proxy"),
        (503, OverloadedError, True, "busy"),
        (504, HTTPStatusError, True, "server's"),
        (529, OverloadedError, True, "overloaded"),
    ],
)
def test_each_status_has_its_error_and_its_advice(
    status: int, kind: type[HTTPStatusError], retryable: bool, advice: str
) -> None:
    error = answered(status, json={"error": {"message": "the server's own words"}})
    assert type(error) is kind
    assert isinstance(error, HTTPStatusError)
    assert (error.status, error.retryable) == (status, retryable)
    assert f"model.test answered {status}: the server's own words" in error.message
    assert advice in error.message
    assert "the server's own words" in error.body


def test_a_used_up_quota_is_not_worth_a_retry() -> None:
    error = answered(429, json={"error": {"message": "No.", "code": "insufficient_quota"}})
    assert isinstance(error, RateLimitError)
    assert not error.retryable
    assert "billing" in error.message


def test_a_prompt_that_is_too_long_is_recognised() -> None:
    error = answered(400, json={"error": {"message": "No.", "code": "context_length_exceeded"}})
    assert isinstance(error, ContextLengthError)
    assert error.context_overflow
    assert not error.retryable


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", "take one with a longer context"),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 8256 "
            "tokens (64 in the messages, 8192 in the completion).",
            "--max-output-tokens",
        ),
        (
            "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000",
            "--max-output-tokens",
        ),
    ],
)
def test_where_the_reply_takes_the_room_a_shorter_one_is_advised(words: str, advice: str) -> None:
    error = answered(400, json={"error": {"message": words}})
    assert isinstance(error, ContextLengthError)
    assert advice in error.message


def test_the_wait_that_the_server_asks_for_is_kept() -> None:
    assert answered(429, headers={"Retry-After": "7"}).retry_after == 7
    assert answered(503, headers={"retry-after-ms": "1500"}).retry_after == 1.5
    assert answered(500).retry_after is None


def test_a_page_is_not_poured_out() -> None:
    page = f"<html><head><title>Bad Gateway</title></head><body>{'x' * 9000}</body></html>"
    error = answered(502, body=page)
    assert isinstance(error, HTTPStatusError)
    assert "Bad Gateway" in error.message
    assert len(error.message) < 300
    assert len(error.body) <= 2000


def test_a_page_with_status_200_points_to_the_base_url() -> None:
    error = answered(200, body="<!DOCTYPE html><html></html>", content_type="text/html")
    assert isinstance(error, ProtocolError)
    assert "base URL" in error.message


def test_an_error_without_a_word() -> None:
    assert "no reason given" in answered(500).message


def test_a_name_that_does_not_exist() -> None:
    def unknown(*unused: object, **options: object) -> list[tuple[object, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    error = error_from(OpenAIChat("m", base_url=URL, proxies={}, resolver=unknown))
    assert isinstance(error, ConnectError)
    assert not error.retryable
    assert "no server named model.test: check the base URL" in error.message


def test_a_look_up_that_may_work_later() -> None:
    def offline(*unused: object, **options: object) -> list[tuple[object, ...]]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    error = error_from(OpenAIChat("m", base_url=URL, proxies={}, resolver=offline, max_retries=0))
    assert isinstance(error, ConnectError)
    assert error.retryable
    assert "online" in error.message


def test_a_port_where_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    error = error_from(OpenAIChat("m", base_url=url, proxies={}, max_retries=0))
    assert isinstance(error, ConnectError)
    assert error.retryable
    assert f"nothing listens at 127.0.0.1:{port}" in error.message


def test_https_to_a_server_that_speaks_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/v1"
        asking = Asking(OpenAIChat("m", base_url=url, proxies={}, max_retries=2))
        client, _ = listener.accept()
        with client:
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            asking.wait_for_end()
    (failed,) = asking.events
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, ConnectError)
    assert "http://" in failed.error.message


def test_a_server_that_closes_without_a_word() -> None:
    with serve(close_at_once) as server:
        error = error_from(OpenAIChat("m", base_url=server.url, proxies={}, max_retries=0))
    assert isinstance(error, ConnectionLost)
    assert error.retryable
    assert "before it answered" in error.message


def test_a_proxy_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = f"http://user:secret@127.0.0.1:{listener.getsockname()[1]}"
    error = error_from(OpenAIChat("m", base_url=URL, proxies={"all": dead}, max_retries=0))
    assert isinstance(error, ConnectError)
    assert "proxy" in error.message
    assert "secret" not in str(error.to_dict())


def test_a_proxy_that_refuses() -> None:
    def refuse(peer: Peer, request: Request) -> None:
        peer.answer(407, "who are you?")

    with serve(refuse) as proxy:
        provider = OpenAIChat(
            "m",
            base_url="https://model.test/v1",
            proxies={"all": f"http://127.0.0.1:{proxy.port}"},
            max_retries=0,
        )
        error = error_from(provider)
    assert isinstance(error, ConnectError)
    assert "proxy" in error.message
    assert "407" in error.message
