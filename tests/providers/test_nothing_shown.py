"""A reply that fails before anything of it was shown is asked for again, in either dialect."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from claw import Engine, Session
from claw.events import Completed, Failed, Retrying, StreamEvent
from claw.providers import AnthropicMessages, OpenAIChat
from claw.providers.fallback import Choice, FallbackProvider
from claw.providers.http_provider import HTTPProvider
from tests.support import anthropic as messages
from tests.support import chat
from tests.support.asking import ask
from tests.support.peer import Peer, Request
from tests.support.server import Behaviour, Server, cut_after, reply, serve, stream

CHAT_ERROR = chat.body({"error": {"message": "busy", "code": 503}})
MESSAGES_ERROR = messages.body(
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
)
PING = b": ping\n\n"
ROLE = chat.body(chat.chunk({"role": "assistant", "content": ""}))
PROMPT_TOLD = chat.body(chat.chunk({"role": "assistant"}, usage={"prompt_tokens": 9}))
MESSAGE_START = messages.body(messages.head(input_tokens=9, output_tokens=1))
EMPTY_BLOCK = messages.body(messages.block(0, "text", text=""))

# What comes before the fault, and the error that the server then reports.
BEGINNINGS: list[tuple[type[HTTPProvider], Sequence[bytes], bytes]] = [
    (OpenAIChat, [], CHAT_ERROR),
    (OpenAIChat, [PING, ROLE], CHAT_ERROR),
    (OpenAIChat, [PROMPT_TOLD, PING], CHAT_ERROR),
    (AnthropicMessages, [], MESSAGES_ERROR),
    (AnthropicMessages, [MESSAGE_START], MESSAGES_ERROR),
    (AnthropicMessages, [MESSAGE_START, messages.body(messages.PING), PING], MESSAGES_ERROR),
    (AnthropicMessages, [MESSAGE_START, EMPTY_BLOCK], MESSAGES_ERROR),
    (AnthropicMessages, [EMPTY_BLOCK, messages.body(messages.end(0))], MESSAGES_ERROR),
]
each_beginning = pytest.mark.parametrize(("dialect", "beginning", "error"), BEGINNINGS)
each_fault = pytest.mark.parametrize("cut", [True, False], ids=["cut", "error"])


def failing(beginning: Sequence[bytes], error: bytes, *, cut: bool) -> Behaviour:
    return cut_after(*beginning) if cut else stream(*beginning, error)


def answering(peer: Peer, request: Request) -> None:
    """In the dialect that was asked in."""
    if request.path.endswith("/messages"):
        whole = [messages.head(), messages.text(0, "Hello"), messages.tail(), messages.STOP]
        stream(messages.body(*whole))(peer, request)
    else:
        reply("Hello")(peer, request)


def text_of(events: Sequence[StreamEvent]) -> str:
    last = events[-1]
    assert isinstance(last, Completed), last
    return last.message.text


@pytest.fixture
def make() -> Any:
    with ExitStack() as stack:

        def provider(dialect: type[HTTPProvider], server: Server, retries: int) -> HTTPProvider:
            made = dialect("m", base_url=server.url, max_retries=retries)
            stack.callback(made.close)
            return made

        yield provider


@each_beginning
@each_fault
def test_it_is_asked_for_again(
    dialect: type[HTTPProvider], beginning: Sequence[bytes], error: bytes, cut: bool, make: Any
) -> None:
    with serve(failing(beginning, error, cut=cut), answering) as server:
        events = ask(make(dialect, server, 1))
    assert text_of(events) == "Hello"
    assert [type(event) for event in events].count(Retrying) == 1


@each_beginning
@each_fault
def test_the_next_server_is_asked(
    dialect: type[HTTPProvider], beginning: Sequence[bytes], error: bytes, cut: bool, make: Any
) -> None:
    with serve(failing(beginning, error, cut=cut)) as first, serve(answering) as second:
        choices = [
            Choice("a:m", make(dialect, first, 0)),
            Choice("b:m", make(AnthropicMessages, second, 0)),
        ]
        assert text_of(ask(FallbackProvider(*choices))) == "Hello"


@pytest.mark.parametrize(
    ("dialect", "shown", "error"),
    [
        (OpenAIChat, chat.body(chat.text("Hel")), CHAT_ERROR),
        (OpenAIChat, chat.body(chat.call(id="a", name="ls")), CHAT_ERROR),
        (AnthropicMessages, messages.body(messages.text(0, "Hel")), MESSAGES_ERROR),
        (AnthropicMessages, messages.body(messages.thinking(0, "Hm")), MESSAGES_ERROR),
    ],
)
@each_fault
def test_what_was_shown_is_not_asked_for_again(
    dialect: type[HTTPProvider], shown: bytes, error: bytes, cut: bool, make: Any
) -> None:
    with serve(failing([shown], error, cut=cut), answering) as server:
        assert isinstance(ask(make(dialect, server, 2))[-1], Failed)
        assert len(server.requests) == 1


def test_what_the_lost_reply_cost_is_counted(make: Any) -> None:
    with serve(stream(MESSAGE_START, MESSAGES_ERROR), answering) as server:
        result = Engine(make(AnthropicMessages, server, 1)).run(Session(), "Hi")
    assert (result.text, result.usage.input_tokens) == ("Hello", 9)
