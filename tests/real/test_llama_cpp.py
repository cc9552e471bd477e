"""A real model behind a real server: SmolLM2 in llama.cpp.

What the model says is its own affair. These tests look at the protocol: what streams, what is
counted, how a reply ends, and what the server notices.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from contextlib import closing
from typing import Any

import pytest

from claw import CancelToken, Engine, MemoryReporter, RunStatus, Session, StopReason
from claw.errors import ContextLengthError
from claw.events import TextDelta
from claw.providers.http_provider import HTTPProvider
from tests.real.llama_server import CONTEXT, MODEL, missing
from tests.support.command import Finished, Shell

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}"),
]

PATIENCE_S = 180.0  # two busy cores can bring the model below one token a second
FREED_S = 30.0  # measured: 0.1, and on busy cores up to the end of the batch
ENDLESS = {"ignore_eos": True}  # llama.cpp's own field: only a limit or the client ends the reply


class TellsFirstText(MemoryReporter):
    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def on_event(self, event: Any) -> None:
        super().on_event(event)
        if isinstance(event, TextDelta):
            self.told.set()


def is_generating(base_url: str) -> bool:
    """Whether the server's one slot is at work."""
    slots = base_url.removesuffix("/v1") + "/slots"
    with urllib.request.urlopen(slots, timeout=PATIENCE_S) as answer:
        (slot,) = json.load(answer)
    return bool(slot["is_processing"])


def wait_until_idle(base_url: str) -> None:
    """The server has no event to wait for, so it is asked again and again."""
    end = time.monotonic() + FREED_S
    while is_generating(base_url):
        assert time.monotonic() < end, "the server goes on though its client has left"
        time.sleep(0.02)


def run_claw(shell: Shell, base_url: str, *arguments: str) -> Finished:
    """`claw run`, with more time than Shell gives it."""
    arguments = ("--base-url", base_url, "--model", MODEL, *arguments)
    with shell.started("run", *arguments) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    return Finished(process.returncode, out.decode(), err.decode())


def test_text_streams_and_its_tokens_are_counted(model: HTTPProvider) -> None:
    memory, session = MemoryReporter(), Session()
    with CancelToken(timeout=PATIENCE_S).child() as limit:
        result = Engine(model, max_tokens=200).run(
            session, "Say hello.", reporter=memory, cancel=limit
        )
    assert result.status in (RunStatus.COMPLETED, RunStatus.TRUNCATED)
    deltas = [event.text for event in memory.events if isinstance(event, TextDelta)]
    assert len(deltas) > 1
    assert "".join(deltas) == result.text == session.messages[-1].text
    assert result.usage.input_tokens > 0
    assert len(deltas) <= result.usage.output_tokens <= 200
    assert session.messages[-1].model == MODEL
    assert memory.result == result


def test_the_servers_cache_knows_the_conversation(model: HTTPProvider) -> None:
    """The start of a request stays the same from turn to turn, byte by byte."""
    engine, session = Engine(model, max_tokens=20, system="You are brief. " * 20), Session()
    first = engine.run(session, "Name a colour.")
    second = engine.run(session, "Name another one.")
    assert second.usage.cached_tokens >= first.usage.input_tokens


def test_an_output_limit_is_told_and_the_text_is_kept(
    llama: str, dialect: type[HTTPProvider]
) -> None:
    session = Session()
    with closing(dialect(MODEL, base_url=llama, params=ENDLESS)) as endless:
        result = Engine(endless, max_tokens=8).run(session, "Count to a thousand.")
    assert (result.status, result.stop_reason) == (RunStatus.TRUNCATED, StopReason.MAX_TOKENS)
    assert result.usage.output_tokens == 8
    assert result.text == session.messages[-1].text != ""


def test_a_cancel_in_mid_stream_frees_the_server_and_the_next_turn_works(
    llama: str, dialect: type[HTTPProvider], model: HTTPProvider
) -> None:
    session, reporter, token = Session(), TellsFirstText(), CancelToken(timeout=PATIENCE_S)
    was_generating: list[bool] = []

    def cancel_at_first_text() -> None:
        reporter.told.wait(PATIENCE_S)
        was_generating.append(is_generating(llama))
        token.cancel("enough")

    canceller = threading.Thread(target=cancel_at_first_text)
    canceller.start()
    with closing(dialect(MODEL, base_url=llama, params=ENDLESS)) as endless:
        result = Engine(endless).run(session, "Tell a story.", cancel=token, reporter=reporter)
        canceller.join()
        assert (result.status, result.cancel_reason) == (RunStatus.CANCELLED, "enough")
        assert was_generating == [True]
        assert result.partial_text == reporter.text != ""
        wait_until_idle(llama)
    following = Engine(model, max_tokens=20).run(session, "Say hello.")
    assert following.status in (RunStatus.COMPLETED, RunStatus.TRUNCATED)
    assert [message.role for message in session.messages] == ["user", "user", "assistant"]


def test_a_prompt_longer_than_the_context_is_recognised(model: HTTPProvider) -> None:
    session = Session()
    with pytest.raises(ContextLengthError) as caught:
        Engine(model).run(session, "word " * (CONTEXT + 1000))
    assert caught.value.context_overflow
    assert not caught.value.retryable
    assert [message.role for message in session.messages] == ["user"]


def test_claw_run_prints_the_answer(llama: str, shell: Shell) -> None:
    """A question without the coding rules: so small a model answers those without end."""
    rules = shell.folder / "rules.txt"
    rules.write_text("Answer in one short sentence.")
    done = run_claw(shell, llama, "--system-file", str(rules), "Say hello.")
    assert (done.code, bool(done.out.strip())) == (0, True), done


def test_claw_run_says_that_an_answer_is_cut_short(llama: str, shell: Shell) -> None:
    """With claw's own rules and tools in front, which the server takes without complaint."""
    limits = ("--max-output-tokens", "4", "--output", "json")
    done = run_claw(shell, llama, *limits, "Count from one to a thousand, in words.")
    assert (done.code, done.envelope["status"]) == (3, "truncated"), done
    assert done.envelope["text"]
    assert done.envelope["usage"]["output_tokens"] == 4
