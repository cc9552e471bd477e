"""An outside judge: the PyPI package llmock injects faults and looks at how claw reacts.

The judge sees traffic alone. It wants Retry-After honoured, no retry of what can't succeed, no
storm of them, and a cut reply asked for again. claw asks again by itself as long as nothing of
the reply has come. After that the error goes to the caller, who is told whether asking again is
worth it; here the caller asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest

from claw import Engine, MemoryReporter, RunResult, RunStatus, Session, Tool, allow_all, tool
from claw.errors import (
    AuthError,
    ConnectionLost,
    ContextLengthError,
    HTTPStatusError,
    OverloadedError,
    ProtocolError,
    ProviderError,
    RateLimitError,
    StreamStalled,
    StreamTruncated,
)
from claw.events import Retrying
from claw.providers import AnthropicMessages, OpenAIChat
from claw.providers.http_provider import HTTPProvider
from claw.session import orphan_results, unanswered_calls

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(find_spec("llmock") is None, reason="not installed: llmock"),
]

PROVIDERS = {"openai": OpenAIChat, "anthropic": AnthropicMessages}
IDLE_S = 2.0
STALL_S = 20  # far longer than claw waits, and the test too
ANSWER = "Paris, of course, as everybody knows."
MID_TEXT = 4  # chunks: the role, and three words


@dataclass
class Caller:
    """Somebody's program that asks through claw, each time in a new session."""

    provider: HTTPProvider
    tools: list[Tool] = field(default_factory=list)
    memory: MemoryReporter = field(default_factory=MemoryReporter)
    session: Session = field(default_factory=Session)

    def ask(self, prompt: str = "What is the capital of France?") -> RunResult:
        self.memory, self.session = MemoryReporter(), Session()
        engine = Engine(self.provider, tools=self.tools, approver=allow_all, reporter=self.memory)
        try:
            return engine.run(self.session, prompt)
        finally:
            assert unanswered_calls(self.session.messages) == []
            assert orphan_results(self.session.messages) == []

    @property
    def retries(self) -> list[Retrying]:
        return [event for event in self.memory.events if isinstance(event, Retrying)]


@pytest.fixture(params=["openai", "anthropic"])
def caller(llmock: Any, request: pytest.FixtureRequest) -> Iterator[Caller]:
    """Claw as it is by default, but for a shorter clock, in each dialect."""
    speaks = PROVIDERS[request.param]
    base_url = llmock.base_url(request.param)
    with closing(speaks("m", base_url=base_url, idle_timeout=IDLE_S)) as provider:
        yield Caller(provider)


BROKEN = {
    "truncate": StreamTruncated,
    "disconnect": ConnectionLost,
    "stall": StreamStalled,
    "corrupt": ProtocolError,
}


def break_stream(llmock: Any, fault: str, after: int) -> None:
    """The next stream has this fault after so many chunks; it is slow enough to be left."""
    details = {"seconds": STALL_S} if fault == "stall" else {}
    getattr(llmock.pace(20), fault)(after_chunks=after, **details)


def wait_until_judged(llmock: Any) -> None:
    """The judge takes a request for a retry only if it saw the end of the one before."""
    assert llmock.requests


@pytest.mark.parametrize("fault", BROKEN)
def test_a_reply_broken_in_mid_text_is_an_error_that_says_to_ask_again(
    llmock: Any, caller: Caller, fault: str
) -> None:
    llmock.reply(ANSWER, times=2)
    break_stream(llmock, fault, MID_TEXT)
    with pytest.raises(BROKEN[fault]) as caught:
        caller.ask()
    assert caught.value.retryable
    assert caller.retries == []  # a part was shown, so it isn't sent again unseen
    assert caller.memory.text
    assert ANSWER.startswith(caller.memory.text)
    assert [message.role for message in caller.session.messages] == ["user"]
    wait_until_judged(llmock)
    result = caller.ask()
    assert (result.status, result.text) == (RunStatus.COMPLETED, ANSWER)
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("fault", ["truncate", "disconnect", "stall"])
def test_a_reply_broken_before_it_began_is_asked_for_again(
    llmock: Any, caller: Caller, fault: str
) -> None:
    break_stream(llmock, fault, 0)
    assert caller.ask().status is RunStatus.COMPLETED
    assert len(caller.retries) == 1
    llmock.assert_resilient(strict=True)


def test_retry_after_is_honoured(llmock: Any, caller: Caller) -> None:
    llmock.rate_limit(times=2, retry_after=0.4)
    assert caller.ask().status is RunStatus.COMPLETED
    assert [type(retry.error) for retry in caller.retries] == [RateLimitError] * 2
    assert all(retry.wait_s >= 0.4 for retry in caller.retries)
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_server_error_is_retried(llmock: Any, caller: Caller, status: int) -> None:
    llmock.fail(status)
    assert caller.ask().status is RunStatus.COMPLETED
    assert len(caller.retries) == 1
    llmock.assert_resilient(strict=True)


def test_an_outage_ends_in_an_error_after_few_attempts(llmock: Any, caller: Caller) -> None:
    llmock.outage()
    with pytest.raises(OverloadedError):
        caller.ask()
    assert len(llmock.requests) == 3
    llmock.assert_resilient()


@pytest.mark.parametrize(
    ("status", "error"), [(400, HTTPStatusError), (401, AuthError), (404, HTTPStatusError)]
)
def test_what_cannot_succeed_is_not_tried_again(
    llmock: Any, caller: Caller, status: int, error: type[ProviderError]
) -> None:
    llmock.fail(status)
    with pytest.raises(error) as caught:
        caller.ask()
    assert (caught.value.retryable, len(llmock.requests)) == (False, 1)
    llmock.assert_resilient(strict=True)


def test_a_prompt_that_is_too_long_is_recognised(llmock: Any, caller: Caller) -> None:
    llmock.limits(context_window=100)
    with pytest.raises(ContextLengthError) as caught:
        caller.ask("word " * 1000)
    assert caught.value.context_overflow
    llmock.assert_resilient(strict=True)


def results_sent(llmock: Any) -> dict[str, str]:
    """The results in the last message of the last request, by the id of their call."""
    message = llmock.last_request.body["messages"][-1]
    if message["role"] == "tool":
        return {message["tool_call_id"]: message["content"]}
    return {block["tool_use_id"]: block["content"] for block in message["content"]}


def calls_sent(llmock: Any) -> list[str]:
    """The ids of the calls in the last message but one."""
    message = llmock.last_request.body["messages"][-2]
    blocks = message["content"] if isinstance(message["content"], list) else message["tool_calls"]
    return [block["id"] for block in blocks]


def recording_tool() -> tuple[Tool, list[dict[str, Any]]]:
    calls: list[dict[str, Any]] = []

    @tool
    def look_up_weather(city: str, days: int) -> str:
        """The weather of a city for some days."""
        calls.append({"city": city, "days": days})
        return f"{city}: sunny"

    return look_up_weather, calls


def test_a_whole_tool_loop(llmock: Any, caller: Caller) -> None:
    """llmock makes up arguments from the schema it is sent, and ends once it has a result."""
    weather, calls = recording_tool()
    caller.tools = [weather]
    result = caller.ask("What is the weather in the city?")
    assert (result.status, result.steps, bool(result.text)) == (RunStatus.COMPLETED, 2, True)
    ((call,), (outcome,)) = caller.memory.tool_calls, caller.memory.tool_results
    assert (calls, outcome.is_error) == ([dict(call.arguments)], False)
    assert results_sent(llmock) == {call.id: outcome.content}
    assert result.usage.input_tokens > 0
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
def test_a_bad_call_is_not_run_and_the_model_is_told(
    llmock: Any, caller: Caller, kind: str
) -> None:
    weather, calls = recording_tool()
    caller.tools = [weather]
    llmock.break_tool_call(kind)
    result = caller.ask("What is the weather in the city?")
    assert (result.status, calls) == (RunStatus.COMPLETED, [])
    (outcome,) = caller.memory.tool_results
    assert outcome.is_error
    assert results_sent(llmock) == {outcome.call_id: outcome.content}
    assert calls_sent(llmock) == [outcome.call_id]
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("fault", BROKEN)
def test_a_call_in_a_broken_reply_is_not_run(llmock: Any, caller: Caller, fault: str) -> None:
    """The reply breaks within the arguments; asked again, the loop comes to its end."""
    weather, calls = recording_tool()
    caller.tools = [weather]
    break_stream(llmock, fault, 2)
    with pytest.raises(BROKEN[fault]):
        caller.ask("What is the weather in the city?")
    assert (calls, caller.memory.tool_calls) == ([], [])
    wait_until_judged(llmock)
    assert caller.ask("What is the weather in the city?").status is RunStatus.COMPLETED
    assert len(calls) == 1
    llmock.assert_resilient(strict=True)
