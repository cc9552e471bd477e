"""claw as a peer: the whole way through provider, channel, engine and a counting reporter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median, quantiles
from typing import Any

from claw import CancelToken, Decision, Engine, Reporter, RunStatus, Session, Tool, ToolCall, tool
from claw.messages import Message, TextBlock
from claw.providers import AnthropicMessages, OpenAIChat
from tests.bench.peer import Figures, OnText, burst, check, main, url

STALL_AFTER = 10
SETTLE_S = 0.02  # so that reader and engine are asleep when the cancel comes


class Claw:
    def text(self, base_url: str, on_text: OnText) -> str:
        return _text(_provider(base_url), on_text)

    def calls(self, base_url: str) -> Sequence[Mapping[str, Any]]:
        """The calls are parsed and checked against the tool; the run ends before they are run."""
        session = Session()
        engine = Engine(_provider(base_url), tools=[note], approver=_end_the_run)
        engine.run(session, "go")
        return [call.arguments for message in session.messages for call in message.tool_calls]

    def conversation(self, base_url: str, messages: int) -> Callable[[], str]:
        engine = Engine(_provider(base_url))
        session = Session(_message(number) for number in range(messages))
        return lambda: engine.run(session, "and now?").text


class ClawMessages(Claw):
    """The same by way of the Messages dialect, for text alone."""

    def text(self, base_url: str, on_text: OnText) -> str:
        provider = AnthropicMessages(
            "bench-model", base_url=base_url, api_key="none", max_retries=0
        )
        return _text(provider, on_text)


class TextCounter(Reporter):
    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text

    def on_text_delta(self, text: str) -> None:
        self._on_text(text)


@tool
def note(content: str) -> str:
    """Takes a note."""
    return content


def messages_burst(server: str, count: int) -> Figures:
    return burst(ClawMessages(), server, "messages", count)


def cancel_delays(server: str, count: int) -> Figures:
    """Milliseconds from a cancel on another thread to the return of `run`, in a silent stream."""
    delays = [_cancel_delay(url(server, "stall", STALL_AFTER)) for _ in range(count)]
    p99 = quantiles(delays, n=100, method="inclusive")[-1]
    return {"p50_ms": median(delays) * 1e3, "p99_ms": p99 * 1e3}


def _cancel_delay(base_url: str) -> float:
    token, shown, cancelled_at = CancelToken(), threading.Semaphore(0), 0.0

    def cancel_in_the_silence() -> None:
        nonlocal cancelled_at
        for _ in range(STALL_AFTER):
            shown.acquire()
        time.sleep(SETTLE_S)
        cancelled_at = time.monotonic()
        token.cancel()

    canceller = threading.Thread(target=cancel_in_the_silence)
    canceller.start()
    engine = Engine(_provider(base_url), reporter=TextCounter(lambda text: shown.release()))
    result = engine.run(Session(), "go", cancel=token)
    returned_at = time.monotonic()
    canceller.join()
    check(result.status is RunStatus.CANCELLED, "the run wasn't cancelled")
    return returned_at - cancelled_at


def _text(provider: AnthropicMessages | OpenAIChat, on_text: OnText) -> str:
    return Engine(provider, reporter=TextCounter(on_text)).run(Session(), "go").text


def _provider(base_url: str) -> OpenAIChat:
    return OpenAIChat("bench-model", base_url=base_url, api_key="none", max_retries=0)


def _message(number: int) -> Message:
    text = f"message {number} " * 15
    return Message.assistant(TextBlock(text)) if number % 2 else Message.user(text)


def _end_the_run(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
    return Decision(False, "measured", RunStatus.NEEDS_APPROVAL)


if __name__ == "__main__":
    main(Claw(), cancel=cancel_delays, messages=messages_burst)
