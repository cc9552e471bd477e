"""When a server can't answer, the next one is asked; told, and with its own key alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from claw import CancelToken, Engine, MemoryReporter, Session, ToolContext, allow_all, tool
from claw.errors import AuthError, ConfigError, ConnectionLost, ProviderError, RateLimitError
from claw.events import Completed, Failed, Retrying, StreamEvent, TextDelta
from claw.providers import ModelRequest, OpenAIChat, ScriptedProvider, text_turn, tool_turn
from claw.providers.fallback import Choice, FallbackProvider
from tests.support.asking import Asking, ask
from tests.support.server import close_at_once, never_answer, reply, serve, status

LOST = ConnectionLost("gone")
BUSY = RateLimitError("busy", status=429, retryable=True)
WRONG_KEY = AuthError("wrong key", status=401)


class Broken:
    """A StreamingProvider that gives these events and then raises."""

    def __init__(self, error: Exception, *events: StreamEvent) -> None:
        self.events, self.error = events, error

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        yield from self.events
        raise self.error


def choices(*providers: object) -> FallbackProvider:
    named = zip("abc", providers, strict=False)
    return FallbackProvider(*(Choice(name, provider) for name, provider in named))  # type: ignore[arg-type]


def test_the_first_that_answers_is_the_only_one_asked() -> None:
    second = ScriptedProvider(text_turn("no"))
    assert ask(choices(ScriptedProvider(text_turn("yes")), second)) == text_turn("yes")
    assert second.requests == []


def test_each_failure_that_may_pass_goes_on_to_the_next() -> None:
    events = ask(choices(Broken(LOST), ScriptedProvider(BUSY), ScriptedProvider(text_turn("Hi"))))
    assert events == [
        Retrying(1, 0.0, LOST, "with b"),
        Retrying(1, 0.0, BUSY, "with c"),
        *text_turn("Hi"),
    ]


def test_the_failure_of_the_last_one_is_the_failure() -> None:
    assert ask(choices(ScriptedProvider(LOST), ScriptedProvider(BUSY)))[-1] == Failed(BUSY)


@pytest.mark.parametrize("error", [WRONG_KEY, ProviderError("nonsense")])
def test_what_does_not_pass_fails_at_once(error: ProviderError) -> None:
    second = ScriptedProvider(text_turn("no"))
    assert ask(choices(ScriptedProvider(error), second)) == [Failed(error)]
    assert second.requests == []


def test_a_fault_of_the_settings_is_no_reason_to_ask_another() -> None:
    with pytest.raises(ConfigError):
        ask(choices(Broken(ConfigError("no such file")), ScriptedProvider(text_turn("no"))))


def test_a_reply_that_has_begun_is_never_asked_for_again() -> None:
    second = ScriptedProvider(text_turn("no"))
    events = ask(choices(Broken(LOST, TextDelta("Hal")), second))
    assert events == [TextDelta("Hal"), Failed(LOST)]
    assert second.requests == []


def test_each_has_its_own_retries_and_every_request_begins_with_the_first() -> None:
    with serve(close_at_once) as bad, serve(reply("Hello")) as good:
        first = OpenAIChat("m", base_url=bad.url, api_key="key-of-the-first", max_retries=1)
        second = OpenAIChat("n", base_url=good.url, api_key="key-of-the-second")
        both = FallbackProvider(Choice("one:m", first), Choice("two:n", second))
        for _ in range(2):
            events = ask(both)
            told = [(e.attempt, e.remedy) for e in events if isinstance(e, Retrying)]
            assert told == [(1, ""), (2, "with two:n")]
            assert isinstance(events[-1], Completed)
        both.close()
        assert both.secrets == ("key-of-the-first", "key-of-the-second")
    assert {r.headers["authorization"] for r in bad.requests} == {"Bearer key-of-the-first"}
    assert {r.headers["authorization"] for r in good.requests} == {"Bearer key-of-the-second"}
    assert [r.body["model"] for r in good.requests] == ["n", "n"]


def test_a_cancel_asks_nobody_else() -> None:
    with serve(never_answer) as silent, serve(reply("no")) as other:
        providers = [OpenAIChat("m", base_url=server.url) for server in (silent, other)]
        asking = Asking(choices(*providers))
        silent.wait_request()
        asking.cancel_now()
        asking.wait_for_end()
        silent.wait_disconnect(2)
        for provider in providers:
            provider.close()
    assert asking.events == []
    assert other.requests == []


def test_a_cancel_in_the_wait_of_a_retry_asks_nobody_else() -> None:
    with serve(status(429, "slow", Retry_After="30")) as slow, serve(reply("no")) as other:
        providers = [OpenAIChat("m", base_url=server.url) for server in (slow, other)]
        asking = Asking(choices(*providers))
        assert asking.first_event.wait(5)
        asking.cancel_now()
        asking.wait_for_end()
        for provider in providers:
            provider.close()
    assert [type(event) for event in asking.events] == [Retrying]
    assert other.requests == []


def test_no_tool_sees_the_key_of_any_choice() -> None:
    seen: list[dict[str, str]] = []

    @tool
    def look(context: ToolContext) -> str:
        """Looks."""
        seen.append(dict(context.env))
        return "seen"

    class Keyed(ScriptedProvider):
        secrets = ("key-of-the-second",)

    provider = choices(ScriptedProvider(tool_turn("look"), LOST), Keyed(text_turn("Done")))
    memory = MemoryReporter()
    env = {"A_KEY": "key-of-the-second", "KEPT": "yes"}
    engine = Engine(provider, tools=[look], approver=allow_all, env=env, reporter=memory)
    assert engine.run(Session(), "look").text == "Done"
    assert seen == [{"KEPT": "yes"}]
    assert [e.remedy for e in memory.events if isinstance(e, Retrying)] == ["with b"]
