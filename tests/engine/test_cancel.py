"""Cancel in every state of the engine that needs no network: the caller is back, the history is
whole, the next turn is normal, nothing is left. (The network's states: tests/test_cancel_matrix.)
"""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Iterator

import pytest

from claw import (
    CancelToken,
    Decision,
    Engine,
    MemoryReporter,
    Reporter,
    RunResult,
    RunStatus,
    Session,
    Tool,
    ToolCall,
    ToolContext,
    allow_all,
    tool,
)
from claw.events import StreamEvent, TextDelta, ToolStarted
from claw.providers import ModelRequest, ScriptedProvider, text_turn, tool_turn
from claw.providers.scripted import calls_turn
from claw.session import NOT_RUN, orphan_results, unanswered_calls
from tests.support.interrupting import interrupt_main

# Measured: under 2 ms. The bound is what a user would still call at once.
SOON_S = 0.5


def cancelled_run(
    engine: Engine, reached: threading.Event, session: Session, reporter: Reporter | None = None
) -> tuple[RunResult, float]:
    """Runs until `reached`, cancels from another thread; (result, seconds from cancel to return).

    Also looks that the history is whole.
    """
    token, when = CancelToken(), []

    def cancel() -> None:
        assert reached.wait(30)
        when.append(time.monotonic())
        token.cancel("interrupt")

    thread = threading.Thread(target=cancel)
    thread.start()
    result = engine.run(session, "go", cancel=token, reporter=reporter)
    back = time.monotonic()
    thread.join()
    assert unanswered_calls(session.messages) == []
    assert orphan_results(session.messages) == []
    return result, back - when[0]


class Blocking:
    """A provider stuck in its first reply until its token frees it; after that it answers."""

    def __init__(self) -> None:
        self.used = False

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        if not self.used:
            self.used = True
            yield TextDelta("half ")
            cancel.wait()
            return
        yield from text_turn("normal")


class Telling(Reporter):
    """Says when the first text was told."""

    def __init__(self) -> None:
        self.reached = threading.Event()

    def on_text_delta(self, text: str) -> None:
        self.reached.set()


def test_while_the_stream_is_silent() -> None:
    provider, session, telling = Blocking(), Session(), Telling()
    engine = Engine(provider)
    result, took = cancelled_run(engine, telling.reached, session, telling)
    assert (result.status, result.cancel_reason) == (RunStatus.CANCELLED, "interrupt")
    assert result.partial_text == "half "
    assert [m.role for m in session.messages] == ["user"]
    assert took < SOON_S
    assert engine.run(session, "again").text == "normal"


def test_while_the_stream_floods_a_full_channel() -> None:
    reached = threading.Event()

    def flood() -> Iterator[StreamEvent]:
        for n in range(100_000_000):
            if n == 1000:
                reached.set()
            yield TextDelta("y")

    provider = ScriptedProvider(lambda request: flood(), text_turn("normal"))  # type: ignore[arg-type, return-value]
    engine, session = Engine(provider), Session()
    result, took = cancelled_run(engine, reached, session)
    assert result.status is RunStatus.CANCELLED
    assert took < SOON_S
    assert engine.run(session, "again").text == "normal"


def test_while_a_tool_that_heeds_its_token_runs() -> None:
    reached = threading.Event()

    @tool
    def wait(context: ToolContext) -> str:
        """Waits."""
        context.output("so far so good")
        reached.set()
        context.cancel.wait()
        context.cancel.raise_if_cancelled()
        return "never"

    @tool
    def quick() -> str:
        """Returns."""
        return "fine"

    calls = calls_turn(("quick", {}), ("wait", {}), ("quick", {}))
    engine = Engine(
        ScriptedProvider(calls, text_turn("normal")), tools=[wait, quick], approver=allow_all
    )
    session, memory = Session(), MemoryReporter()
    result, took = cancelled_run(engine, reached, session, memory)
    assert result.status is RunStatus.CANCELLED
    assert took < SOON_S
    first, second, third = session.messages[-1].tool_results
    assert (first.content, first.is_error) == ("fine", False)
    assert second.is_error
    assert second.content.startswith("interrupted")
    assert "so far so good" in second.content
    assert (third.content, third.is_error) == (NOT_RUN, True)
    started = [e.call.id for e in memory.events if isinstance(e, ToolStarted)]
    assert [r.call_id for r in memory.tool_results] == started
    assert engine.run(session, "again").text == "normal"


def test_while_a_deaf_tool_runs() -> None:
    reached, release = threading.Event(), threading.Event()

    @tool
    def deaf() -> str:
        """Hears nothing."""
        reached.set()
        assert release.wait(30)
        return "late"

    engine = Engine(
        ScriptedProvider(tool_turn("deaf"), text_turn("normal")), tools=[deaf], approver=allow_all
    )
    session = Session()
    result, took = cancelled_run(engine, reached, session)
    assert result.status is RunStatus.CANCELLED
    assert took < 1.2
    assert "may still be running" in session.messages[-1].tool_results[0].content
    assert engine.run(session, "again").text == "normal"
    assert "may still be running" in session.messages[2].tool_results[0].content
    release.set()


def test_while_a_question_is_open() -> None:
    reached = threading.Event()

    def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        reached.set()
        cancel.wait()
        return Decision(True)  # too late to count

    ran: list[str] = []

    @tool
    def note() -> str:
        """Notes."""
        ran.append("ran")
        return ""

    engine = Engine(
        ScriptedProvider(tool_turn("note"), text_turn("normal")), tools=[note], approver=ask
    )
    session = Session()
    result, took = cancelled_run(engine, reached, session)
    assert result.status is RunStatus.CANCELLED
    assert (took < SOON_S, ran) == (True, [])
    assert session.messages[-1].tool_results[0].content == NOT_RUN
    assert engine.run(session, "again").text == "normal"


def test_while_a_reporter_is_slow_the_cancel_is_answered_at_its_return() -> None:
    reached, release = threading.Event(), threading.Event()
    returned: list[float] = []

    class Slow(Reporter):
        def on_text_delta(self, text: str) -> None:
            reached.set()
            assert release.wait(30)
            returned.append(time.monotonic())

    token, session = CancelToken(), Session()
    engine = Engine(ScriptedProvider(text_turn(*["y"] * 5000), text_turn("normal")))

    def cancel() -> None:
        assert reached.wait(30)
        token.cancel("interrupt")
        release.set()

    thread = threading.Thread(target=cancel)
    thread.start()
    result = engine.run(session, "go", cancel=token, reporter=Slow())
    back = time.monotonic()
    thread.join()
    assert result.status is RunStatus.CANCELLED
    assert back - returned[-1] < SOON_S
    assert engine.run(session, "again").text == "normal"


def test_before_the_run_begins() -> None:
    token = CancelToken()
    token.cancel("interrupt")
    session = Session()
    result = Engine(ScriptedProvider(text_turn("never"))).run(session, "go", cancel=token)
    assert (result.status, result.steps) == (RunStatus.CANCELLED, 0)
    assert [m.role for m in session.messages] == ["user"]


def test_from_a_callback_of_the_run_itself() -> None:
    stream_of: list[object] = []

    def closing(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        stream_of[0].close()  # type: ignore[attr-defined]
        return Decision(True)

    @tool
    def note() -> str:
        """Notes."""
        return ""

    session = Session()
    engine = Engine(ScriptedProvider(tool_turn("note")), tools=[note], approver=closing)
    stream = engine.events(session, "go")
    stream_of.append(stream)
    assert list(stream)[-1].type == "run_finished"
    assert stream.result is not None
    assert stream.result.status is RunStatus.CANCELLED
    assert unanswered_calls(session.messages) == []


def test_closing_a_stream_on_another_thread_ends_the_iteration() -> None:
    provider, session = Blocking(), Session()
    stream = Engine(provider).events(session, "go")

    thread = threading.Thread(target=stream.close)
    events = []
    for event in stream:
        events.append(event)
        if event == TextDelta("half "):
            thread.start()
    thread.join()
    assert events[-1].type == "run_finished"
    assert stream.result is not None
    assert stream.result.status is RunStatus.CANCELLED


def test_a_keyboard_interrupt_on_the_callers_thread_leaves_a_whole_history() -> None:
    reached = threading.Event()

    @tool
    def wait(context: ToolContext) -> str:
        """Waits."""
        reached.set()
        context.cancel.wait()
        context.cancel.raise_if_cancelled()
        return "never"

    session = Session()
    engine = Engine(
        ScriptedProvider(tool_turn("wait"), text_turn("normal")), tools=[wait], approver=allow_all
    )
    over = threading.Event()

    def interrupt() -> None:
        assert reached.wait(30)
        interrupt_main(over)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        engine.run(session, "go")
    over.set()
    thread.join()
    assert unanswered_calls(session.messages) == []
    assert engine.run(session, "again").text == "normal"


def test_a_second_keyboard_interrupt_does_not_wait_for_a_deaf_tool() -> None:
    reached, release = threading.Event(), threading.Event()

    @tool
    def deaf() -> str:
        """Hears nothing."""
        reached.set()
        assert release.wait(30)
        return "late"

    session, cancelled, over = Session(), threading.Event(), threading.Event()
    struck_at: list[float] = []

    def interrupt_twice() -> None:
        assert reached.wait(30)
        interrupt_main(cancelled)
        struck_at.append(interrupt_main(over))

    def approver(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        cancel.on_cancel(cancelled.set)
        return Decision(True)

    engine = Engine(
        ScriptedProvider(tool_turn("deaf"), text_turn("normal")), tools=[deaf], approver=approver
    )
    thread = threading.Thread(target=interrupt_twice)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        engine.run(session, "go")
    back = time.monotonic()
    over.set()
    thread.join()
    assert back - struck_at[0] < SOON_S
    release.set()
    assert engine.run(session, "again").text == "normal"
    assert unanswered_calls(session.messages) == []


def drop_in_a_cycle(stream: object) -> None:
    cycle: list[object] = [stream]
    cycle.append(cycle)


def test_a_stream_dropped_in_a_cycle_does_no_harm() -> None:
    """It frees its threads and its session, and never touches the history from elsewhere."""
    provider, session = Blocking(), Session()
    stream = Engine(provider).events(session, "go")
    next(stream)
    drop_in_a_cycle(stream)
    del stream
    collector = threading.Thread(target=gc.collect)
    collector.start()
    collector.join()
    assert [m.role for m in session.messages] == ["user"]
    assert Engine(ScriptedProvider(text_turn("normal"))).run(session, "again").text == "normal"


def test_a_stream_dropped_while_its_calls_are_open_is_repaired_by_the_next_run() -> None:
    @tool
    def wait(context: ToolContext) -> str:
        """Waits."""
        context.output("x")
        context.cancel.wait()
        return "late"

    session = Session()
    engine = Engine(
        ScriptedProvider(tool_turn("wait"), text_turn("normal")), tools=[wait], approver=allow_all
    )
    stream = engine.events(session, "go")
    while next(stream).type != "tool_progress":
        pass
    drop_in_a_cycle(stream)
    del stream
    gc.collect()
    memory = MemoryReporter()
    assert engine.run(session, "again", reporter=memory).text == "normal"
    assert len(memory.notices) == 1
    assert unanswered_calls(session.messages) == []


@pytest.mark.stress
def test_random_cancels_are_never_stuck() -> None:
    dice = random.Random(11)

    @tool
    def work(context: ToolContext) -> str:
        """Works a little."""
        context.output("x")
        context.cancel.wait(0.001)
        return "done"

    session = Session()
    for round_ in range(500):
        turns = [tool_turn("work")] * 2 + [text_turn(*"abc")] * 2
        engine = Engine(ScriptedProvider(*turns), tools=[work], approver=allow_all)
        token = CancelToken()
        timer = threading.Timer(dice.random() / 100, token.cancel)
        timer.start()
        result = engine.run(session, f"go {round_}", cancel=token)
        timer.join()
        assert result.status in (RunStatus.COMPLETED, RunStatus.CANCELLED)
        assert unanswered_calls(session.messages) == []
        assert orphan_results(session.messages) == []
