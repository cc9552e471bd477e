"""What a reply cost that never became whole: told once, and counted in the run's usage."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from claw import CancelToken, Engine, MemoryReporter, ProviderError, Reporter, Session, Usage
from claw.events import Failed
from claw.providers import AnthropicMessages, OpenAIChat
from tests.support.anthropic import STOP, body, head, tail, text
from tests.support.asking import ask
from tests.support.peer import Peer, Request
from tests.support.server import Behaviour, cut_after, serve
from tests.support.server import stream as whole
from tests.support.wire import DONE, chunk

HEAD = body(head(input_tokens=100, cache_read_input_tokens=900, output_tokens=1), text(0, "Half "))
HEAD_USAGE = Usage(1000, 1, cached_tokens=900)
END = body(text(0, "done"), tail(output_tokens=7), STOP)


def then_silence(*events: bytes) -> Behaviour:
    def behave(peer: Peer, request: Request) -> None:
        peer.start_stream()
        for each in events:
            peer.chunk(each)
        peer.hold()

    return behave


class OnText(Reporter):
    def __init__(self, action: Callable[[], object]) -> None:
        self._action = action

    def on_text_delta(self, text: str) -> None:
        self._action()


def test_a_cancelled_reply_counts_as_far_as_the_server_had_told() -> None:
    token = CancelToken()
    with serve(then_silence(HEAD)) as server:
        provider = AnthropicMessages("m", base_url=server.url)
        engine = Engine(provider, reporter=OnText(token.cancel))
        result = engine.run(Session(), "go", cancel=token)
        provider.close()
    assert (result.partial_text, result.usage) == ("Half ", HEAD_USAGE)


def test_a_reply_that_breaks_off_counts_too() -> None:
    memory = MemoryReporter()
    with serve(cut_after(HEAD)) as server:
        provider = AnthropicMessages("m", base_url=server.url)
        with pytest.raises(ProviderError):
            Engine(provider).run(Session(), "go", reporter=memory)
        provider.close()
    assert memory.result is not None
    assert memory.result.usage == HEAD_USAGE


def test_a_whole_reply_is_counted_once() -> None:
    told: list[Usage] = []
    with serve(whole(HEAD, END), whole(HEAD, END)) as server:
        provider = AnthropicMessages("m", base_url=server.url)
        result = Engine(provider).run(Session(), "go")
        ask(provider, on_partial_usage=told.append)
        provider.close()
    assert (result.usage, told) == (Usage(1000, 7, cached_tokens=900), [])


def test_it_is_told_on_the_thread_that_iterates_and_before_the_failure() -> None:
    heard: list[object] = []
    counts = {"prompt_tokens": 5, "completion_tokens": 1}
    running = chunk({"content": "Half "}, usage=counts)  # as vLLM sends it when asked to
    with serve(cut_after(running)) as server:
        provider = OpenAIChat("m", base_url=server.url)
        events = ask(
            provider, on_partial_usage=lambda usage: heard.extend([usage, threading.get_ident()])
        )
        provider.close()
    assert isinstance(events[-1], Failed)
    assert heard == [Usage(5, 1), threading.get_ident()]


def test_where_no_counts_came_nothing_is_told() -> None:
    told: list[Usage] = []
    with serve(cut_after(chunk({"content": "Half "})), cut_after(DONE)) as server:
        provider = OpenAIChat("m", base_url=server.url, max_retries=0)
        for _ in range(2):
            ask(provider, on_partial_usage=told.append)
        provider.close()
    assert told == []
