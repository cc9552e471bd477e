"""No key in what is shown, in whatever spelling a server sends it back."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest

from claw.errors import AuthError, ConfigError, HTTPStatusError
from claw.events import Completed, Failed
from claw.providers.masking import hidden, without_secrets
from claw.providers.model_list import list_models
from claw.providers.openai_chat import OpenAIChat
from tests.support.asking import CancelToken, ask
from tests.support.server import Behaviour, Server, raw, serve
from tests.support.wire import event

KEY = "sk-aaaa/bbbb/cccc1234"
PASSWORD = "a-secret-of-the-proxy"

SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda key: json.dumps(key)[1:-1],
    "json with slashes escaped": lambda key: json.dumps(key)[1:-1].replace("/", r"\/"),
    "json in json": lambda key: json.dumps(json.dumps(key).replace("/", r"\/"))[3:-3],
    "numbers": lambda key: "".join(f"\\u{ord(char):04x}" for char in key),
    "large numbers": lambda key: "".join(f"\\u{ord(char):04X}" for char in key),
    "one number": lambda key: f"\\u{ord(key[0]):04x}{json.dumps(key[1:])[1:-1]}",
    "url": lambda key: quote(key, safe=""),
    "page": html.escape,
    "page in numbers": lambda key: "".join(f"&#{ord(char)};&"[:-1] for char in key),
}
KEYS = [KEY, "abcdefgh", r'a\b"c' + "'d<e>&f/%g+h~!", "12345678901234%25&amp;", "\\" * 9]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=list(SPELLINGS))
def test_a_secret_in_any_spelling(spell: Callable[[str], str], key: str) -> None:
    text = without_secrets(f"you sent {spell(key)} to us, {spell(key)}.", (key,))
    assert text == "you sent [key] to us, [key]."


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=list(SPELLINGS))
def test_a_beginning_that_was_cut_off(spell: Callable[[str], str]) -> None:
    assert without_secrets(f"you sent {spell(KEY[:14])}...", (KEY,)) == "you sent [key]..."


def test_a_short_key_counts_where_it_stands_alone() -> None:
    assert hidden(r"a\/b, not ba/bb, nor a-b", "a/b") == "[key], not ba/bb, nor a-b"


@pytest.mark.parametrize("unit", ["\\", "s", "%", "&#x0", r"sk-a\u", "sk-aaaa/bbb"])
def test_a_text_of_near_misses_takes_no_time(unit: str) -> None:
    start = time.monotonic()
    without_secrets(unit * (65536 // len(unit)), (KEY, "\\" * 9))
    assert time.monotonic() - start < 2


def keyed(server: Server) -> closing[OpenAIChat]:
    return closing(OpenAIChat("m", base_url=server.url, api_key=KEY, max_retries=0))


def refused(words: str) -> Behaviour:
    return raw(b"HTTP/1.1 401 No\r\n\r\n" + words.encode())


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=list(SPELLINGS))
def test_an_error_tells_no_key_in_its_words_or_its_body(spell: Callable[[str], str]) -> None:
    said = f'{{"error":{{"message":"bad key {spell(KEY)}!"}}}}'
    with serve(refused(said)) as server, keyed(server) as provider:
        last = ask(provider)[-1]
        with pytest.raises(AuthError) as told:
            list_models(provider, CancelToken())
    assert isinstance(last, Failed)
    for error in (last.error, told.value):
        assert isinstance(error, AuthError)
        assert "bad key [key]!" in error.message
        assert "bad key [key]!" in error.body


def test_what_a_server_calls_its_reply_holds_no_key_and_is_short() -> None:
    choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": KEY}
    body = event({"model": "m" * 5000, "choices": [choice]})
    with serve(raw(b"HTTP/1.1 200 OK\r\n\r\n" + body)) as server, keyed(server) as provider:
        last = ask(provider)[-1]
    assert isinstance(last, Completed)
    assert (last.message.text, last.message.stop_word) == ("Hi", "[key]")
    assert len(last.message.model) < 300


def test_a_redirect_is_told_in_short_and_without_the_key() -> None:
    place = f"http://x.test/?k={quote(KEY, safe='')}&" + "A" * 50_000
    answer = f"HTTP/1.1 302 No\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
    with serve(raw(answer.encode())) as server, keyed(server) as provider:
        last = ask(provider)[-1]
    assert isinstance(last, Failed)
    assert isinstance(last.error, HTTPStatusError)
    assert "redirects to http://x.test/?k=[key]&AAA" in last.error.message
    assert len(last.error.message) < 500


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://u:{}@h:99999", "has no URL"),
        ("http://u:{}@", "has no URL"),
        ("http://u:{}@[::1", "has no URL"),
        ("http://u:x/{}@127.0.0.1:9", "has no URL"),
        ("http://u:{} @127.0.0.1:9", "has no URL"),
        ("u:{}@h:x", "has no URL"),
        ("://", "has no URL"),
        ("foo://u:{}@127.0.0.1:9", "has to begin with"),
        ("http://u:%E2%82%AC{}@127.0.0.1:9", "can't carry"),
    ],
)
@pytest.mark.parametrize("given", [True, False], ids=["given", "environment"])
def test_a_proxy_that_cannot_be_one_is_at_fault_and_nothing_of_it_is_told(
    url: str, words: str, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = url.format(PASSWORD)
    options: dict[str, Any] = {"proxies": {"all": proxy}} if given else {}
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    if not given:
        monkeypatch.setenv("http_proxy", proxy)
    with closing(OpenAIChat("m", base_url="http://model.test/v1", **options)) as provider:
        with pytest.raises(ConfigError) as asked:
            ask(provider)
        with pytest.raises(ConfigError) as listed:
            list_models(provider, CancelToken())
    assert asked.value == listed.value
    assert words in asked.value.message
    assert ("the proxy that was given" in asked.value.message) is given
    assert PASSWORD not in asked.value.message
