"""Sub-agents: a task is a run within a run. Its text alone comes back, and it ends with the turn.

A script is shared by both runs, in the order in which they ask: outer, inner, ..., outer.
"""

from __future__ import annotations

import gc
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from claw import (
    CancelToken,
    Decision,
    Engine,
    MemoryReporter,
    Message,
    Reporter,
    RunResult,
    RunStatus,
    Session,
    StopReason,
    Tool,
    ToolCall,
    ToolContext,
    Usage,
    allow_all,
    deny_all,
    tool,
)
from claw.engine.task import task_tool
from claw.errors import ProviderError
from claw.events import Completed, StreamEvent, TextDelta, ToolFinished, ToolProgress
from claw.messages import Block, TextBlock
from claw.providers import ModelRequest, ScriptedProvider, text_turn, tool_turn
from claw.providers.scripted import calls_turn
from claw.session import NOT_RUN, orphan_results, unanswered_calls
from tests.support.interrupting import interrupt_main

# Measured: under 5 ms. The bound is what a user would still call at once.
SOON_S = 0.5
TASK = tool_turn("task", description="look", prompt="find it")


@tool(read_only=True)
def look(place: str) -> str:
    """Looks there."""
    return f"nothing in {place}"


@tool
def change(place: str) -> str:
    """Changes it."""
    return f"changed {place}"


def engine_of(*turns: object, **options: object) -> Engine:
    options = {"tools": [look, change, task_tool()], "approver": allow_all, **options}
    return Engine(ScriptedProvider(*turns), **options)  # type: ignore[arg-type]


def run(*turns: object, **options: object) -> tuple[Session, MemoryReporter, Engine]:
    engine, session, memory = engine_of(*turns, **options), Session(), MemoryReporter()
    engine.run(session, "go", reporter=memory)
    assert_whole(session)
    return session, memory, engine


def requests_of(engine: Engine) -> list[ModelRequest]:
    assert isinstance(engine.provider, ScriptedProvider)
    return engine.provider.requests


def assert_whole(session: Session) -> None:
    assert unanswered_calls(session.messages) == []
    assert orphan_results(session.messages) == []


def progress(memory: MemoryReporter) -> str:
    return "".join(event.text for event in memory.events if isinstance(event, ToolProgress))


def costing(*blocks: Block, tokens: int) -> list[StreamEvent]:
    """A turn that took `tokens` in and one out."""
    return [Completed(replace(Message.assistant(*blocks), usage=Usage(tokens, 1)))]


# --- what comes back ----------------------------------------------------------------------------


def test_the_last_text_alone_comes_back() -> None:
    inner = calls_turn(("look", {"place": "a.py"}), text="I look at a.py.")
    session, memory, _ = run(TASK, inner, text_turn("It isn't there."), text_turn("done"))
    (result,) = session.messages[2].tool_results
    assert (result.content, result.is_error) == ("It isn't there.", False)
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "assistant"]
    assert memory.text == "done"
    assert [call.name for call in memory.tool_calls] == ["task"]


def test_what_it_does_is_told_as_it_happens() -> None:
    inner = calls_turn(("look", {"place": "a.py"}), text="I look.\nAt a.py.")
    wrong = tool_turn("look", place=3)
    _, memory, _ = run(TASK, inner, wrong, text_turn("The report."), text_turn("done"))
    assert progress(memory) == (
        "I look.\nAt a.py.\n* look a.py\n* look 3\n"
        "  look failed: wrong arguments for look: arguments['place']: 3 is not of type 'string'\n"
    )


def test_it_begins_afresh_with_the_prompt_and_its_own_rules() -> None:
    _, _, engine = run(TASK, text_turn("report"), text_turn("done"), system="House rules.")
    outer, inner, _ = requests_of(engine)
    assert [m.text for m in inner.messages] == ["find it"]
    assert inner.system.startswith("House rules.")
    assert "20 replies" in inner.system
    assert outer.system == "House rules."


def test_it_is_offered_what_only_reads_and_no_task() -> None:
    _, _, engine = run(TASK, text_turn("report"), text_turn("done"))
    outer, inner, _ = requests_of(engine)
    assert [t.name for t in inner.tools] == ["look"]
    assert [t.name for t in outer.tools] == ["look", "change", "task"]


def test_a_call_that_it_was_not_offered_is_refused() -> None:
    turns = (TASK, tool_turn("change", place="x"), TASK, text_turn("report"), text_turn("done"))
    _, memory, _ = run(*turns)
    assert "change failed: there is no tool named 'change'" in progress(memory)
    assert "task failed: there is no tool named 'task'" in progress(memory)


def test_the_owner_may_allow_more() -> None:
    tools = [look, change, task_tool(may_use=lambda each: True)]
    turns = (TASK, tool_turn("change", place="x"), text_turn("report"), text_turn("done"))
    _, _, engine = run(*turns, tools=tools)
    inner = requests_of(engine)[1]
    assert [t.name for t in inner.tools] == ["look", "change"]
    (result,) = requests_of(engine)[2].messages[-1].tool_results
    assert result.content == "changed x"


def test_another_model_of_the_engine_is_its_model_too() -> None:
    engine = engine_of()
    engine.provider = other = ScriptedProvider(TASK, text_turn("report"), text_turn("done"))
    assert engine.run(Session(), "go").text == "done"
    assert len(other.requests) == 3


def test_tasks_run_one_after_the_other_and_beside_nothing() -> None:
    running: list[str] = []

    def part(name: str) -> Callable[[ModelRequest], list[StreamEvent]]:
        def turn(request: ModelRequest) -> list[StreamEvent]:
            running.append(name)
            return text_turn(name)

        return turn

    @tool(read_only=True)
    def note() -> str:
        """Notes."""
        running.append("note")
        return ""

    task = ("task", {"description": "d", "prompt": "p"})
    turns = (calls_turn(task, ("note", {}), task), part("one"), part("two"), text_turn("done"))
    session, _, _ = run(*turns, tools=[note, task_tool()])
    assert running == ["one", "note", "two"]
    assert [r.content for r in session.messages[2].tool_results] == ["one", "", "two"]


def test_what_it_took_is_counted_and_told() -> None:
    turns = costing(TextBlock("report"), tokens=100), costing(TextBlock("done"), tokens=10)
    _, memory, _ = run(TASK, *turns)
    assert memory.result is not None
    assert memory.result.usage == Usage(110, 2)
    assert memory.result.steps == 2
    (finished,) = [e for e in memory.events if isinstance(e, ToolFinished)]
    assert finished.details["status"] == "completed"
    assert finished.details["steps"] == 1
    assert finished.details["usage"]["input_tokens"] == 100


# --- how it may end -----------------------------------------------------------------------------


def task_result(*turns: object, **options: object) -> tuple[str, bool]:
    session, _, _ = run(*turns, **options)
    (result,) = session.messages[2].tool_results
    return result.content, result.is_error


def test_a_failure_of_its_provider_is_an_error_that_the_model_is_told() -> None:
    content, is_error = task_result(TASK, ProviderError("no more room"), text_turn("done"))
    assert (content, is_error) == ("not done: no more room", True)


def test_its_steps_are_limited() -> None:
    looks = [calls_turn(("look", {"place": str(n)}), text=f"look {n}") for n in range(2)]
    tools = [look, task_tool(max_steps=2)]
    content, is_error = task_result(TASK, *looks, text_turn("done"), tools=tools)
    assert (content, is_error) == ("not done: it used up its steps; its last words:\nlook 1", True)


LOOK = ToolCall("c1", "look", {"place": "x"})


def test_its_tokens_are_limited() -> None:
    tools = [look, task_tool(max_tokens=1000)]
    content, is_error = task_result(
        TASK, costing(LOOK, tokens=1000), text_turn("done"), tools=tools
    )
    assert (content, is_error) == ("not done: it used up its tokens", True)
    turns = (TASK, costing(LOOK, tokens=999), text_turn("report"), text_turn("done"))
    assert task_result(*turns, tools=tools) == ("report", False)


def test_an_answer_that_is_whole_stands_whatever_it_took() -> None:
    answer = costing(TextBlock("report"), tokens=5000)
    tools = [look, task_tool(max_tokens=1000)]
    assert task_result(TASK, answer, text_turn("done"), tools=tools) == ("report", False)


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (text_turn("half", stop_reason=StopReason.MAX_TOKENS), "cut short"),
        (text_turn("no", stop_reason=StopReason.REFUSAL), "refused"),
        (text_turn(), "it said nothing"),
    ],
)
def test_an_answer_that_is_none_is_an_error(turn: list[StreamEvent], words: str) -> None:
    content, is_error = task_result(TASK, turn, text_turn("done"))
    assert is_error
    assert words in content


def test_a_task_that_goes_round_in_circles_is_ended() -> None:
    looks = [tool_turn("look", place="here")] * 3
    content, is_error = task_result(TASK, *looks, text_turn("done"))
    assert (content, is_error) == ("not done: it made the same call three times in a row", True)


def test_a_prompt_must_be_given() -> None:
    turn = tool_turn("task", description="look", prompt="")
    content, is_error = task_result(turn, text_turn("done"))
    assert is_error
    assert "wrong arguments for task" in content


def test_by_itself_the_tool_says_that_it_needs_an_engine() -> None:
    each = task_tool()
    context = ToolContext(ToolCall("1", "task", {}), CancelToken(), cwd=None)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="needs an engine"):
        each.run({"description": "d", "prompt": "p"}, context)


# --- who is asked -------------------------------------------------------------------------------


def test_the_approver_is_asked_on_the_engines_thread() -> None:
    asked: list[tuple[str, str]] = []
    token = CancelToken()

    def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        asked.append((call.name, threading.current_thread().name))
        assert not cancel.cancelled
        return Decision(call.name != "look", "not there")

    engine = engine_of(TASK, tool_turn("look", place="x"), text_turn("r"), text_turn("done"))
    engine.approver, results = ask, []
    thread = threading.Thread(
        target=lambda: results.append(engine.run(Session(), "go", cancel=token)), name="owner"
    )
    thread.start()
    thread.join()
    assert results[0].status is RunStatus.COMPLETED
    assert asked == [("task", "owner"), ("look", "owner")]
    (refused,) = requests_of(engine)[2].messages[-1].tool_results
    assert refused.content == "denied: not there"


def test_a_tool_of_the_callers_thread_runs_there_and_others_do_not() -> None:
    names: list[str] = []

    @tool(read_only=True, caller_thread=True)
    def here() -> str:
        """Runs here."""
        names.append(threading.current_thread().name)
        return ""

    @tool(read_only=True)
    def there() -> str:
        """Runs there."""
        names.append(threading.current_thread().name)
        return ""

    inner = calls_turn(("here", {}), ("there", {}))
    run(TASK, inner, text_turn("report"), text_turn("done"), tools=[here, there, task_tool()])
    assert names == [threading.current_thread().name, "claw-tool"]


def test_a_task_that_is_denied_asks_no_model() -> None:
    _, _, engine = run(TASK, text_turn("done"), approver=deny_all)
    assert len(requests_of(engine)) == 2


def test_a_call_that_nobody_can_approve_ends_both_runs() -> None:
    def nobody(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        if tool.read_only:
            return Decision(True)
        return Decision(False, end=RunStatus.NEEDS_APPROVAL)

    tools = [look, change, task_tool(may_use=lambda each: True)]
    session, memory, _ = run(TASK, tool_turn("change", place="x"), tools=tools, approver=nobody)
    assert memory.result is not None
    assert memory.result.status is RunStatus.NEEDS_APPROVAL
    (result,) = session.messages[-1].tool_results
    assert "nobody to ask" in result.content


def test_what_an_approver_raises_ends_both_runs_and_is_raised() -> None:
    def broken(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        if call.name == "look":
            raise ZeroDivisionError("a fault of the approver")
        return Decision(True)

    engine, session = engine_of(TASK, tool_turn("look", place="x")), Session()
    engine.approver = broken
    with pytest.raises(ZeroDivisionError):
        engine.run(session, "go")
    assert_whole(session)


# --- cancel -------------------------------------------------------------------------------------


class Inner:
    """A provider whose first request gets a task, and whose second, the task's, is `within`; then
    it answers "normal". It keeps the task's session's messages as they were asked for."""

    def __init__(self, within: Callable[[CancelToken], Iterator[StreamEvent]]) -> None:
        self._within = within
        self._asked = 0

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        self._asked += 1
        if self._asked == 1:
            yield from TASK
        elif self._asked == 2:
            yield from self._within(cancel)
        else:
            yield from text_turn("normal")


def cancelled_run(
    engine: Engine, reached: threading.Event, session: Session
) -> tuple[RunResult, float]:
    """Runs until `reached`, cancels from another thread; (result, seconds until it was back)."""
    token, when = CancelToken(), []

    def cancel() -> None:
        assert reached.wait(30)
        when.append(time.monotonic())
        token.cancel("interrupt")

    thread = threading.Thread(target=cancel)
    thread.start()
    result = engine.run(session, "go", cancel=token)
    back = time.monotonic()
    thread.join()
    assert_whole(session)
    assert (result.status, result.cancel_reason) == (RunStatus.CANCELLED, "interrupt")
    return result, back - when[0]


def test_a_cancel_while_its_stream_is_silent() -> None:
    reached = threading.Event()

    def silent(cancel: CancelToken) -> Iterator[StreamEvent]:
        yield TextDelta("half")
        reached.set()
        cancel.wait()

    engine = Engine(Inner(silent), tools=[task_tool()], approver=allow_all)
    session = Session()
    _, took = cancelled_run(engine, reached, session)
    assert took < SOON_S
    (result,) = session.messages[-1].tool_results
    assert (result.content, result.is_error) == ("interrupted", True)
    assert engine.run(session, "again").text == "normal"


def test_a_cancel_while_its_stream_floods() -> None:
    reached = threading.Event()

    def flood(cancel: CancelToken) -> Iterator[StreamEvent]:
        for n in range(100_000_000):
            if n == 1000:
                reached.set()
            yield TextDelta("y")

    engine = Engine(Inner(flood), tools=[task_tool()], approver=allow_all)
    session = Session()
    _, took = cancelled_run(engine, reached, session)
    assert took < SOON_S
    assert engine.run(session, "again").text == "normal"


def test_a_cancel_while_its_tool_runs() -> None:
    reached = threading.Event()

    @tool(read_only=True)
    def wait(context: ToolContext) -> str:
        """Waits."""
        reached.set()
        context.cancel.wait()
        context.cancel.raise_if_cancelled()
        return "never"

    task = ("task", {"description": "d", "prompt": "p"})
    turns = (calls_turn(task, ("look", {"place": "x"})), tool_turn("wait"), text_turn("normal"))
    engine, session = engine_of(*turns, tools=[wait, look, task_tool()]), Session()
    _, took = cancelled_run(engine, reached, session)
    assert took < SOON_S
    first, second = session.messages[-1].tool_results
    assert first.content == "interrupted; output so far:\n* wait\n  wait failed: interrupted\n"
    assert second.content == NOT_RUN
    assert engine.run(session, "again").text == "normal"


def test_a_cancel_while_its_deaf_tool_runs() -> None:
    reached, release = threading.Event(), threading.Event()

    @tool(read_only=True)
    def deaf() -> str:
        """Hears nothing."""
        reached.set()
        assert release.wait(30)
        return "late"

    engine = engine_of(TASK, tool_turn("deaf"), text_turn("normal"), tools=[deaf, task_tool()])
    session = Session()
    _, took = cancelled_run(engine, reached, session)
    assert took < 1.4
    assert engine.run(session, "again").text == "normal"
    release.set()


def test_a_cancel_while_its_question_is_open() -> None:
    reached = threading.Event()

    def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        if call.name == "look":
            reached.set()
            cancel.wait()
        return Decision(True)

    turns = (TASK, tool_turn("look", place="x"), text_turn("normal"))
    engine, session = engine_of(*turns, approver=ask), Session()
    _, took = cancelled_run(engine, reached, session)
    assert took < SOON_S
    assert engine.run(session, "again").text == "normal"


def test_a_deadline_of_the_turn_is_one_of_the_task() -> None:
    def silent(cancel: CancelToken) -> Iterator[StreamEvent]:
        cancel.wait()
        yield from ()

    engine, session = Engine(Inner(silent), tools=[task_tool()], approver=allow_all), Session()
    result = engine.run(session, "go", cancel=CancelToken(timeout=0.1))
    assert result.status is RunStatus.DEADLINE
    assert_whole(session)


def test_a_keyboard_interrupt_within_a_task() -> None:
    reached, over = threading.Event(), threading.Event()

    @tool(read_only=True)
    def wait(context: ToolContext) -> str:
        """Waits."""
        reached.set()
        context.cancel.wait()
        context.cancel.raise_if_cancelled()
        return "never"

    def interrupt() -> None:
        assert reached.wait(30)
        interrupt_main(over)

    turns = (TASK, tool_turn("wait"), text_turn("normal"))
    engine, session = engine_of(*turns, tools=[wait, task_tool()]), Session()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        engine.run(session, "go")
    over.set()
    thread.join()
    assert_whole(session)
    assert engine.run(session, "again").text == "normal"


class Resource:
    """Something a tool left in its session, which is closed with it."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


LOOKS = 3


def looking_engine(left: list[Resource]) -> Engine:
    """Its task looks three times, and leaves something behind each time."""

    @tool(read_only=True)
    def leave(n: int, context: ToolContext) -> str:
        """Leaves something."""
        left.append(Resource())
        context.state[str(n)] = left[-1]
        return "left"

    looks = [tool_turn("leave", n=n) for n in range(LOOKS)]
    turns = (TASK, *looks, text_turn("report"), *[text_turn("normal")] * 2)
    return engine_of(*turns, tools=[leave, task_tool()])


def test_what_its_calls_left_is_closed_at_its_end() -> None:
    left: list[Resource] = []
    with Session() as session:
        looking_engine(left).run(session, "go")
        assert len(left) == LOOKS
        assert all(each.closed.is_set() for each in left)


@pytest.mark.parametrize("events_before", range(12))
def test_a_stream_that_is_closed_at_any_event_ends_both(events_before: int) -> None:
    left: list[Resource] = []
    engine, session = looking_engine(left), Session()
    stream = engine.events(session, "go")
    for _ in range(events_before):
        next(stream)
    stream.close()
    assert stream.result is not None
    assert stream.result.status is RunStatus.CANCELLED
    assert_whole(session)
    assert all(each.closed.is_set() for each in left)


@pytest.mark.parametrize("calls_before", range(1, 7))
def test_a_cancel_at_any_call_of_the_reporter_ends_both(calls_before: int) -> None:
    token, left, session = CancelToken(), list[Resource](), Session()

    class Cancelling(Reporter):
        told = 0

        def on_tool_progress(self, call: ToolCall, text: str) -> None:
            self.count()

        def on_tool_call(self, call: ToolCall) -> None:
            self.count()

        def on_tool_result(self, call: ToolCall, result: object) -> None:
            self.count()

        def count(self) -> None:
            self.told += 1
            if self.told == calls_before:
                token.cancel("interrupt")

    result = looking_engine(left).run(session, "go", cancel=token, reporter=Cancelling())
    happened = LOOKS + 2  # the call, each look within it, the result
    assert (result.status is RunStatus.CANCELLED) is (calls_before <= happened)
    assert_whole(session)
    assert all(each.closed.is_set() for each in left)


def test_a_stream_dropped_within_a_task_frees_its_threads_and_its_session() -> None:
    def silent(cancel: CancelToken) -> Iterator[StreamEvent]:
        yield from tool_turn("look", place="x")[:-1]
        cancel.wait()

    @tool(read_only=True)
    def wait(context: ToolContext) -> str:
        """Waits."""
        context.cancel.wait()
        return "late"

    turns = (TASK, tool_turn("look", place="x"), tool_turn("wait"), text_turn("normal"))
    engine, session = engine_of(*turns, tools=[look, wait, task_tool()]), Session()
    stream = engine.events(session, "go")
    while next(stream).type != "tool_progress":
        pass
    next(stream)
    cycle: list[object] = [stream]
    cycle.append(cycle)
    del stream, cycle
    collector = threading.Thread(target=gc.collect)
    collector.start()
    collector.join()
    assert engine.run(session, "again").text == "normal"
    assert_whole(session)


@pytest.mark.stress
def test_cancels_at_random_instants_leave_nothing_running() -> None:
    dice = random.Random(5)

    @tool(read_only=True)
    def work(context: ToolContext) -> str:
        """Works a little."""
        context.cancel.wait(0.001)
        return "done"

    session, ends = Session(), set()
    for round_ in range(500):
        turns = [TASK, tool_turn("work"), tool_turn("work"), *[text_turn(*"abc")] * 2]
        engine = engine_of(*turns, tools=[work, task_tool()])
        token = CancelToken()
        timer = threading.Timer(dice.random() / 100, token.cancel)
        timer.start()
        ends.add(engine.run(session, f"go {round_}", cancel=token).status)
        timer.join()
        assert_whole(session)
        named = [each.name for each in threading.enumerate()]
        assert "claw-tool" not in named
    assert ends == {RunStatus.COMPLETED, RunStatus.CANCELLED}
