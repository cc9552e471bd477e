"""Runs with tools, answers, cancels and retries on a tape: played again, they are the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from claw import CancelToken, Decision, MemoryReporter, ToolContext, ToolError, ToolOutput, tool
from claw.approval import allow_all
from claw.engine import Engine
from claw.engine.task import task_tool
from claw.errors import ConnectError
from claw.events import RunStatus, TextDelta, ToolStarted
from claw.messages import Message, ToolCall
from claw.providers import Choice, FallbackProvider, OpenAIChat, ScriptedProvider
from claw.providers.quirks import Quirks
from claw.providers.scripted import calls_turn
from claw.session import Session
from claw.tape import Tape, TapeProvider, replay, tape_tools
from claw.tape.compare import difference
from claw.tools.base import Tool
from tests.support.server import (
    Behaviour,
    Turn,
    close_at_once,
    cut_after,
    model,
    one_delta_then_silence,
    reply,
    serve,
    status,
)
from tests.support.taping import Taped, played, record
from tests.support.wire import text

CALLED: list[str] = []


@tool(read_only=True)
def look(name: str, context: ToolContext) -> str:
    """Looks at something."""
    context.output(f"looking at {name}\n")
    return f"{name} is there"


@tool
def change(name: str) -> ToolOutput:
    """Changes something."""
    if name == "nothing":
        raise ToolError("there is nothing to change")
    if name == "bug":
        raise ValueError("a fault")
    return ToolOutput(f"{name} changed", details={"exit_code": 0})


def deny_bugs(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
    return Decision(call.arguments.get("name") != "denied", "not that")


@contextmanager
def asking(*behaviours: Behaviour, **options: Any) -> Iterator[OpenAIChat]:
    with (
        serve(*behaviours) as server,
        closing(OpenAIChat("m", base_url=server.url, proxies={}, **options)) as provider,
    ):
        yield provider


def calls(*names: str) -> Turn:
    made = [(f"id{n}", *name.split(":")) for n, name in enumerate(names)]
    return Turn("I act.", tuple((i, tool, {"name": name}) for i, tool, name in made))


def tools_and_answers(path: Path) -> Taped:
    turns = (
        calls("look:a", "look:b", "look:c", "change:x", "change:nothing", "change:bug"),
        calls("change:denied", "missing:x", "look:d"),
        "Done. ",
        calls("look:e"),
        "Done again.",
    )
    with asking(model(*turns)) as provider:
        engine = Engine(
            provider, tools=[look, change], approver=deny_bugs, steering=lambda: ["and quickly"]
        )
        return record(path, engine, "go", "go on")


def retries_and_mends(path: Path) -> Taped:
    refused = status(400, "Unsupported parameter: 'stream_options' is not supported")
    with asking(refused, status(503, "busy"), close_at_once, reply("Hel", "lo")) as provider:
        provider.policy = replace(provider.policy, retries=3, first=0.01)
        return record(path, Engine(provider), "go")


def fallbacks(path: Path) -> Taped:
    with (
        asking(status(429, "slow down", Retry_After="300"), max_retries=0) as first,
        asking(cut_after(text("It beg")), reply("Hello")) as second,
    ):
        provider = FallbackProvider(Choice("a", first), Choice("b", second))
        return record(path, Engine(provider), "go", "again")


def calls_in_text(path: Path) -> Taped:
    words = '{"name": "look", "arguments": {"name": "a"}}'
    with asking(model(words, "Done"), quirks=Quirks(calls_in_text=True)) as provider:
        return record(path, Engine(provider, tools=[look], approver=allow_all), "go")


def loop(path: Path) -> Taped:
    with asking(model(*[calls("look:a")] * 3)) as provider:
        return record(path, Engine(provider, tools=[look], approver=allow_all), "go")


def a_repeat_that_is_allowed(path: Path) -> Taped:
    with asking(model(*[calls("look:a")] * 3, "Done")) as provider:
        engine = Engine(provider, tools=[look], approver=allow_all, on_repeat=allow_all)
        return record(path, engine, "go")


def nobody_to_ask(path: Path) -> Taped:
    def refuse(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        return Decision(False, "nobody", end=RunStatus.NEEDS_APPROVAL)

    with asking(model(calls("change:x", "look:a"))) as provider:
        return record(path, Engine(provider, tools=[look, change], approver=refuse), "go")


def a_task(path: Path) -> Taped:
    task = ("t1", "task", {"description": "look", "prompt": "look around"})
    turns = (Turn("", (task,)), calls("look:a"), "All is there.", "Done")
    with asking(model(*turns)) as provider:
        engine = Engine(provider, tools=[look, change, task_tool()], approver=allow_all)
        return record(path, engine, "go")


def a_compaction(path: Path) -> Taped:
    words = ["many words " * 500, "more words " * 500, "A summary", "An answer"]
    with asking(model(*words)) as provider:
        return record(path, Engine(provider, context_window=3000), "one", "two", "three")


def no_server_at_all(path: Path) -> Taped:
    failure = ConnectError("nothing listens")
    provider = ScriptedProvider(calls_turn(("look", {"name": "a"}), text="I"), failure)
    return record(path, Engine(provider, tools=[look], approver=allow_all), "go")


SCENES: list[Callable[[Path], Taped]] = [
    tools_and_answers,
    retries_and_mends,
    fallbacks,
    calls_in_text,
    loop,
    a_repeat_that_is_allowed,
    nobody_to_ask,
    a_task,
    a_compaction,
    no_server_at_all,
]


@pytest.mark.parametrize("scene", SCENES)
def test_it_comes_out_as_it_did(scene: Callable[[Path], Taped], tmp_path: Path) -> None:
    taped = scene(tmp_path / "tape")
    assert taped.tape.damage == 0
    assert not played(taped).cut


def test_a_history_from_before_is_on_the_tape(tmp_path: Path) -> None:
    taped = Taped(tmp_path / "tape")
    with asking(reply("Hello")) as provider:
        from claw.tape import Recorder

        open_end = Message.assistant(ToolCall("c1", "look"))
        taped.session = Session([Message.user("Hi"), open_end])  # a notice tells of its repair
        taped.session.id = "20261130-124743-5tk3f9"
        with Recorder(taped.path) as recorder:
            recorder.run(Engine(provider), taped.session, "go", reporter=taped.told)
    assert played(taped).results[0].session == taped.session.id


# --- cancelled runs -----------------------------------------------------------------------------


class CancelAt(MemoryReporter):
    """Cancels the run at the first event of a kind."""

    def __init__(self, kind: type, token: CancelToken) -> None:
        super().__init__()
        self._kind, self._token = kind, token

    def on_event(self, event: Any) -> None:
        super().on_event(event)
        if isinstance(event, self._kind):
            self._token.cancel("interrupt")


def test_a_cancel_in_the_middle_of_a_reply(tmp_path: Path) -> None:
    token = CancelToken()
    with asking(one_delta_then_silence) as provider:
        reporter = CancelAt(TextDelta, token)
        taped = record(tmp_path / "tape", Engine(provider), "go", cancel=token, reporter=reporter)
    taped.told = reporter
    (result,) = played(taped).results
    assert (result.status, result.partial_text) == (RunStatus.CANCELLED, "Hel")
    assert result.cancel_reason == "interrupt"


def test_a_deadline_before_the_first_token(tmp_path: Path) -> None:
    with asking(one_delta_then_silence) as provider:
        token = CancelToken(timeout=0.1)
        taped = record(tmp_path / "tape", Engine(provider), "go", cancel=token)
    assert played(taped).results[0].status is RunStatus.DEADLINE


@pytest.mark.parametrize("deaf", [False, True])
def test_a_cancel_while_tools_run(deaf: bool, tmp_path: Path) -> None:
    token, release = CancelToken(), threading.Event()

    @tool(read_only=True)
    def wait(name: str, context: ToolContext) -> str:
        context.output("so far")
        if name == "short":
            return "done"
        token.cancel("interrupt")
        if deaf:
            release.wait(10)
        context.cancel.raise_if_cancelled()
        return "never"

    with asking(model(calls("wait:short", "wait:long", "look:a"))) as provider:
        engine = Engine(provider, tools=[wait, look], approver=allow_all)
        taped = record(tmp_path / "tape", engine, "go", cancel=token)
    release.set()
    (result,) = played(taped).results
    assert result.status is RunStatus.CANCELLED


def test_a_cancel_while_the_user_is_asked(tmp_path: Path) -> None:
    token = CancelToken()

    def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        token.cancel("interrupt")
        return Decision(False)

    with asking(model(calls("change:x"))) as provider:
        engine = Engine(provider, tools=[change], approver=ask)
        taped = record(tmp_path / "tape", engine, "go", cancel=token)
    assert played(taped).results[0].status is RunStatus.CANCELLED


def test_a_cancel_before_anything_was_asked(tmp_path: Path) -> None:
    token = CancelToken()
    with asking(model(calls("change:x"), "Done")) as provider:
        engine = Engine(provider, tools=[change], approver=allow_all)
        reporter = CancelAt(ToolStarted, token)
        taped = record(tmp_path / "tape", engine, "go", cancel=token, reporter=reporter)
    taped.told = reporter
    assert played(taped).results[0].status is RunStatus.CANCELLED


# --- what differs is told -----------------------------------------------------------------------


@pytest.fixture
def tape(tmp_path: Path) -> Tape:
    return tools_and_answers(tmp_path / "tape").tape


def test_another_reply_is_a_difference(tape: Tape) -> None:
    exchange = tape.runs[1].steps[3].last
    assert exchange is not None
    exchange.pieces = [(at, data.replace(b"Done. ", b"Gone. ")) for at, data in exchange.pieces]
    verdict = replay(tape)
    assert verdict.difference.startswith("run 1, event ")
    assert '"Done. "' in verdict.difference
    assert '"Gone. "' in verdict.difference


def test_another_message_is_a_difference(tape: Tape) -> None:
    run, memory = tape.runs[2], MemoryReporter()
    replay(tape, reporter=memory)
    left = run.messages
    assert left is not None
    events = memory.events[len(tape.runs[1].events) :]
    found = difference(run, run.events, [Message.user("else")] * (run.kept + len(left)))
    assert found.startswith(f"run 2, message {run.kept + 1} of the conversation: ")
    assert difference(run, events[:-1], left).endswith("replay: none")


def test_a_call_that_is_not_on_the_tape_is_a_difference(tape: Tape) -> None:
    tape.runs[1].calls.clear()
    assert "never run" in replay(tape).difference


# --- without a server ---------------------------------------------------------------------------


def test_an_engine_works_with_a_tape_in_place_of_server_and_tools(tmp_path: Path) -> None:
    taped = tools_and_answers(tmp_path / "tape")
    engine = Engine(TapeProvider(taped.path), tools=tape_tools(taped.path), approver=deny_bugs)
    session, told = Session(), MemoryReporter()
    engine.run(session, "whatever", reporter=told)
    engine.run(session, "else", reporter=told)
    assert [r.content for r in told.tool_results] == [r.content for r in taped.told.tool_results]
    assert told.text == taped.told.text
    from claw.errors import ProviderError

    with pytest.raises(ProviderError, match="the tape has 5 replies, and this is one more"):
        engine.run(session, "one more")


def test_the_original_pauses_can_be_kept(tmp_path: Path) -> None:
    from tests.support.server import drip

    with asking(drip("words", every=0.05)) as provider:
        taped = record(tmp_path / "tape", Engine(provider), "go")
    quick, slow = replay(taped.tape), replay(taped.tape, original_timing=True)
    assert quick.difference == slow.difference == ""
    assert slow.results[0].duration_s > 0.2 > quick.results[0].duration_s
