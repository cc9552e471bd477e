"""The loop: ask, stream, run tools, answer. Every way a run can end, seen from outside."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from claw import (
    CancelToken,
    ClawError,
    Decision,
    Engine,
    HistoryError,
    MemoryReporter,
    Message,
    ProviderError,
    Reporter,
    RunStatus,
    Session,
    StopReason,
    Tee,
    ToolCall,
    Usage,
    allow_all,
    deny_all,
    tool,
)
from claw.errors import ConnectionLost, ProtocolError, StreamTruncated
from claw.events import (
    Completed,
    Failed,
    Retrying,
    RunFinished,
    StreamEvent,
    TextComplete,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from claw.messages import Block, OpaqueBlock, ReasoningBlock, TextBlock
from claw.providers import ModelRequest, ScriptedProvider, text_turn, tool_turn
from claw.providers.scripted import calls_turn
from claw.session import orphan_results, unanswered_calls


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def run(*turns: object, session: Session | None = None, **options: object) -> MemoryReporter:
    """Runs "go" on the script with `add`, everything allowed; both invariants hold afterwards."""
    memory = MemoryReporter()
    session = session or Session()
    options = {"tools": [add], "approver": allow_all, **options}
    engine = Engine(ScriptedProvider(*turns), **options)  # type: ignore[arg-type]
    engine.run(session, "go", reporter=memory)
    assert unanswered_calls(session.messages) == []
    assert orphan_results(session.messages) == []
    return memory


def test_text_is_told_piece_by_piece_and_kept_whole() -> None:
    session = Session()
    memory = run(text_turn("Hel", "lo"), session=session)
    assert [e.text for e in memory.events if isinstance(e, TextDelta)] == ["Hel", "lo"]
    assert memory.result is not None
    assert (memory.result.status, memory.result.text) == (RunStatus.COMPLETED, "Hello")
    assert [m.text for m in session.messages] == ["go", "Hello"]


def test_a_tool_call_is_run_and_its_result_goes_back_to_the_model() -> None:
    def answer(request: ModelRequest) -> list[StreamEvent]:
        (result,) = request.messages[-1].tool_results
        return text_turn(f"it is {result.content}")

    memory = run(tool_turn("add", a=1, b=2), answer)
    assert memory.text == "it is 3"
    assert memory.result is not None
    assert [(c.name, c.is_error) for c in memory.result.tool_calls] == [("add", False)]
    assert memory.result.steps == 2


def test_nothing_is_executed_before_the_whole_reply_has_arrived() -> None:
    order: list[str] = []

    class Slow:
        def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
            if len(request.messages) > 1:
                yield from text_turn("done")
                return
            events = tool_turn("note")
            yield from events[:-1]
            order.append("reply complete")
            yield events[-1]

    @tool
    def note() -> str:
        """Notes."""
        order.append("executed")
        return ""

    Engine(Slow(), tools=[note], approver=allow_all).run(Session(), "go")
    assert order == ["reply complete", "executed"]


def test_a_provider_that_only_generates_works_without_deltas() -> None:
    class Plain:
        def generate(self, request: ModelRequest, cancel: CancelToken) -> Message:
            if request.messages[-1].role == "tool":
                return Message.assistant(TextBlock(request.messages[-1].tool_results[0].content))
            return Message.assistant(ToolCall("1", "add", {"a": 2, "b": 2}))

    memory = MemoryReporter()
    result = Engine(Plain(), tools=[add], approver=allow_all).run(Session(), "go", reporter=memory)
    assert (result.status, result.text, memory.text) == (RunStatus.COMPLETED, "4", "")


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (StopReason.END_TURN, RunStatus.COMPLETED),
        (StopReason.OTHER, RunStatus.COMPLETED),
        (StopReason.MAX_TOKENS, RunStatus.TRUNCATED),
        (StopReason.CONTENT_FILTER, RunStatus.REFUSED),
        (StopReason.REFUSAL, RunStatus.REFUSED),
    ],
)
def test_how_a_reply_without_calls_ends_the_run(reason: StopReason, status: RunStatus) -> None:
    session = Session()
    memory = run(text_turn("words", stop_reason=reason), session=session)
    assert memory.result is not None
    assert (memory.result.status, memory.result.stop_reason) == (status, reason)
    assert session.messages[-1].text == "words"


@pytest.mark.parametrize("word", ["model_context_window_exceeded", "model_length"])
def test_a_reply_that_filled_the_context_is_cut_and_not_complete(word: str) -> None:
    full = Message("assistant", (TextBlock("Long"),), StopReason.OTHER, word)
    memory = run([Completed(full)])
    assert memory.result is not None
    assert (memory.result.status, memory.result.stop_word) == (RunStatus.TRUNCATED, word)


def paused(*pieces: str) -> list[StreamEvent]:
    return text_turn(*pieces, stop_reason=StopReason.PAUSE)


def completed_texts(memory: MemoryReporter) -> list[str]:
    return [e.text for e in memory.events if isinstance(e, TextComplete)]


def test_an_answer_that_goes_on_after_a_pause_is_one_answer() -> None:
    """In the history its parts stay the messages that came: they go back as they are."""
    session = Session()
    memory = run(paused("One, ", "t"), paused("wo, "), text_turn("three."), session=session)
    assert memory.result is not None
    assert (memory.result.text, memory.result.steps) == ("One, two, three.", 3)
    assert completed_texts(memory) == ["One, two, three."]
    assert [m.text for m in session.messages] == ["go", "One, t", "wo, ", "three."]


def test_the_last_part_of_a_paused_answer_may_be_empty() -> None:
    memory = run(paused("Found."), text_turn())
    assert completed_texts(memory) == ["Found."]
    assert memory.result is not None
    assert memory.result.text == "Found."


def test_text_before_a_call_is_no_part_of_the_answer_after_it() -> None:
    call = calls_turn(("add", {"a": 1, "b": 2}), text="I add. ")
    cut = calls_turn(("add", {"a": 1, "b": 2}), text="I add. ", stop_reason=StopReason.PAUSE)
    for first in (call, cut):
        memory = run(first, text_turn("It is 3."))
        assert completed_texts(memory) == ["I add. ", "It is 3."]
        assert memory.result is not None
        assert memory.result.text == "It is 3."


def test_a_pause_that_nothing_follows_leaves_what_there_is() -> None:
    memory = run(paused("One, "), text_turn("two"), max_steps=1)
    assert memory.result is not None
    assert (memory.result.status, memory.result.text) == (RunStatus.MAX_STEPS, "One, ")
    memory = MemoryReporter()
    lost = [TextDelta("tw"), Failed(ConnectionLost("gone"))]
    with pytest.raises(ConnectionLost):
        Engine(ScriptedProvider(paused("One, "), lost)).run(Session(), "go", reporter=memory)
    assert memory.result is not None
    assert (memory.result.text, memory.result.partial_text) == ("One, ", "tw")


def paused_with(*blocks: Block) -> list[StreamEvent]:
    return [Completed(Message.assistant(*blocks, stop_reason=StopReason.PAUSE))]


@pytest.mark.parametrize("blocks", [(), (ReasoningBlock("Hm"),)])
def test_two_pauses_in_a_row_with_nothing_in_them_end_the_run(blocks: tuple[Block, ...]) -> None:
    session = Session()
    memory = run(*[paused_with(*blocks)] * 9, session=session)
    assert memory.result is not None
    assert (memory.result.status, memory.result.steps) == (RunStatus.TRUNCATED, 2)
    assert [m.role for m in session.messages] == ["user", "assistant", "assistant"]


def test_pauses_that_bring_something_go_on() -> None:
    search = OpaqueBlock({"type": "server_tool_use"})
    script = [paused_with(), paused("One, "), paused_with(), paused_with(search), paused_with()]
    memory = run(*script, text_turn("two."))
    assert memory.result is not None
    assert (memory.result.status, memory.result.steps) == (RunStatus.COMPLETED, 6)


def test_nobody_steers_into_a_paused_answer() -> None:
    session = Session()
    run(paused("One, "), text_turn("two"), session=session, steering=lambda: ["and be quick"])
    assert [m.role for m in session.messages] == ["user", "assistant", "assistant"]


@pytest.mark.parametrize("reason", [StopReason.MAX_TOKENS, StopReason.OTHER])
def test_calls_of_a_cut_reply_are_not_run_and_the_model_is_asked_once_more(
    reason: StopReason,
) -> None:
    cut = calls_turn(("add", {"a": 1, "b": 1}), stop_reason=reason)
    memory = run(cut, text_turn("ok"))
    (result,) = memory.tool_results
    assert result.is_error
    assert "not run" in result.content
    assert memory.result is not None
    assert memory.result.status is RunStatus.COMPLETED
    twice = run(cut, cut, text_turn("never asked"))
    assert twice.result is not None
    assert (twice.result.status, twice.result.steps) == (RunStatus.TRUNCATED, 2)


@pytest.mark.parametrize("reason", [StopReason.CONTENT_FILTER, StopReason.REFUSAL])
def test_calls_of_a_filtered_reply_are_not_run_and_the_run_ends(reason: StopReason) -> None:
    memory = run(calls_turn(("add", {"a": 1, "b": 1}), stop_reason=reason))
    assert [r.is_error for r in memory.tool_results] == [True]
    assert memory.result is not None
    assert memory.result.status is RunStatus.REFUSED


def test_calls_beside_end_turn_are_run() -> None:
    memory = run(
        calls_turn(("add", {"a": 1, "b": 1}), stop_reason=StopReason.END_TURN), text_turn("ok")
    )
    assert [r.content for r in memory.tool_results] == ["2"]


def test_a_failed_reply_is_raised_after_the_reporter_was_told() -> None:
    session, memory = Session(), MemoryReporter()
    engine = Engine(ScriptedProvider(ConnectionLost("the connection broke")))
    with pytest.raises(ConnectionLost):
        engine.run(session, "go", reporter=memory)
    assert memory.result is not None
    assert memory.result.status is RunStatus.ERROR
    assert memory.result.error == ConnectionLost("the connection broke")
    assert session.messages == (Message.user("go"),)


def test_text_before_a_failure_is_partial_and_not_part_of_the_history() -> None:
    def cut(request: ModelRequest) -> list[StreamEvent]:
        return [TextDelta("half an ans"), *text_turn()[:0]]

    session, memory = Session(), MemoryReporter()
    with pytest.raises(StreamTruncated):
        Engine(ScriptedProvider(cut)).run(session, "go", reporter=memory)
    assert memory.result is not None
    assert (memory.result.partial_text, memory.result.text) == ("half an ans", "")
    assert session.messages == (Message.user("go"),)


def test_a_fault_in_the_providers_code_is_named_as_one() -> None:
    def broken(request: ModelRequest) -> list[StreamEvent]:
        raise KeyError("choices")

    with pytest.raises(ProviderError, match="KeyError"):
        run(broken)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_a_thread_is_a_fault_too_and_leaves_no_traceback(
    fault: type[BaseException], capfd: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
            yield TextDelta("a")
            raise fault

    with pytest.raises(ProviderError, match=rf"^Broken raised {fault.__name__} \(a fault"):
        Engine(Broken()).run(Session(), "go")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("answer", [Message.user("mine"), Message.tool(), None, "words"])
def test_a_reply_is_an_assistants_message_and_nothing_else(answer: object) -> None:
    class Odd:
        def generate(self, request: ModelRequest, cancel: CancelToken) -> Message:
            return answer  # type: ignore[return-value]

    session = Session()
    with pytest.raises(ProtocolError, match="Odd gave"):
        Engine(Odd()).run(session, "go")
    assert session.messages == (Message.user("go"),)


def test_events_after_the_end_of_a_reply_do_not_count() -> None:
    memory = run([*text_turn("first"), TextDelta("late"), *text_turn("second")])
    assert memory.text == "first"


def test_max_steps_ends_a_run_with_a_whole_history() -> None:
    endless = [tool_turn("add", a=n, b=n) for n in range(10)]
    memory = run(*endless, max_steps=3)
    assert memory.result is not None
    assert (memory.result.status, memory.result.steps) == (RunStatus.MAX_STEPS, 3)


def test_usage_of_all_steps_adds_up() -> None:
    def with_usage(turn: list[StreamEvent], usage: Usage) -> list[StreamEvent]:
        (*deltas, last) = turn
        assert isinstance(last, Completed)
        message = last.message
        return [*deltas, Completed(Message("assistant", message.blocks, usage=usage))]

    memory = run(
        with_usage(tool_turn("add", a=1, b=1), Usage(10, 5)),
        with_usage(text_turn("2"), Usage(20, 7, cached_tokens=10)),
    )
    assert memory.result is not None
    assert memory.result.usage == Usage(30, 12, 10)


def test_retries_are_told_and_change_nothing() -> None:
    waiting = Retrying(1, 0.5, ConnectionLost("refused"))
    memory = run([waiting, *text_turn("at last")])
    assert waiting in memory.events
    assert memory.text == "at last"


def test_steering_is_read_after_each_tool_message() -> None:
    lines = [["and be quick"], []]
    session = Session()
    run(
        tool_turn("add", a=1, b=1),
        text_turn("ok"),
        session=session,
        steering=lambda: lines.pop(0),
    )
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert session.messages[3].text == "and be quick"


def test_pull_and_push_tell_the_same() -> None:
    script = (tool_turn("add", a=1, b=2), text_turn("3"))
    memory = run(*script)
    engine = Engine(ScriptedProvider(*script), tools=[add], approver=allow_all)
    with engine.events(Session(), "go") as stream:
        pulled = list(stream)
    assert stream.result is not None
    assert [e.type for e in pulled] == [e.type for e in memory.events]
    assert pulled[-1] == RunFinished(stream.result)


def test_pull_raises_what_the_run_failed_with_after_its_last_event() -> None:
    stream = Engine(ScriptedProvider(ConnectionLost("gone"))).events(Session(), "go")
    seen = []
    with pytest.raises(ConnectionLost):
        seen.extend(event.type for event in iter(lambda: next(stream), None))
    assert stream.result is not None
    assert stream.result.status is RunStatus.ERROR


def test_leaving_the_with_block_ends_the_run_and_keeps_the_history_whole() -> None:
    session = Session()
    engine = Engine(
        ScriptedProvider(tool_turn("add", a=1, b=2), text_turn("3")),
        tools=[add],
        approver=allow_all,
    )
    with engine.events(session, "go") as stream:
        for event in stream:
            if isinstance(event, ToolStarted):
                break
    assert stream.result is not None
    assert stream.result.status is RunStatus.CANCELLED
    assert unanswered_calls(session.messages) == []
    assert engine.run(session, "again").text == "3"


def test_a_session_is_in_one_run_at_a_time() -> None:
    session = Session()
    engine = Engine(ScriptedProvider(text_turn("one"), text_turn("two")))
    with engine.events(session, "go") as stream:
        next(stream)
        with pytest.raises(HistoryError):
            engine.run(session, "meanwhile")
    assert engine.run(session, "after").status is RunStatus.COMPLETED


def test_what_an_approver_raises_reaches_the_caller_with_a_whole_history() -> None:
    def broken(*unused: object) -> Decision:
        raise RuntimeError("no display")

    session, memory = Session(), MemoryReporter()
    engine = Engine(ScriptedProvider(tool_turn("add", a=1, b=2)), tools=[add], approver=broken)
    with pytest.raises(RuntimeError, match="no display"):
        engine.run(session, "go", reporter=memory)
    assert unanswered_calls(session.messages) == []
    assert memory.result is not None
    assert isinstance(memory.result.error, ClawError)


def test_without_an_approver_nothing_runs_and_the_run_goes_on() -> None:
    memory = run(tool_turn("add", a=1, b=2), text_turn("ok"), approver=deny_all)
    assert [r.is_error for r in memory.tool_results] == [True]
    assert memory.text == "ok"


def test_reporters_are_swapped_without_touching_engine_or_provider() -> None:
    class Counting(Reporter):
        count = 0

        def on_text_delta(self, text: str) -> None:
            self.count += 1

    engine = Engine(ScriptedProvider(*[text_turn("a", "b")] * 3))
    one, two = MemoryReporter(), Counting()
    engine.run(Session(), "go", reporter=one)
    engine.run(Session(), "go", reporter=two)
    engine.run(Session(), "go", reporter=Tee(one, two))
    assert (one.text, two.count) == ("abab", 4)


def test_a_reporter_that_raises_does_not_end_the_run() -> None:
    class Broken(Reporter):
        def on_text_delta(self, text: str) -> None:
            raise ValueError("no such colour")

    session = Session()
    result = Engine(ScriptedProvider(text_turn("hi"))).run(session, "go", reporter=Broken())
    assert result.status is RunStatus.COMPLETED
    assert session.messages[-1].text == "hi"


def test_a_closed_pipe_cancels_the_run() -> None:
    class Closed(Reporter):
        def on_text_delta(self, text: str) -> None:
            raise BrokenPipeError

    endless = ScriptedProvider([TextDelta("y")] * 5000 + text_turn("never"))
    memory = MemoryReporter()
    result = Engine(endless).run(Session(), "go", reporter=Tee(Closed(), memory))
    assert (result.status, result.cancel_reason) == (RunStatus.CANCELLED, "broken pipe")
    assert memory.result == result


def test_events_of_one_batch_are_flushed_together() -> None:
    class Batches(Reporter):
        def __init__(self) -> None:
            self.now: list[str] = []
            self.batches: list[list[str]] = []

        def on_text_delta(self, text: str) -> None:
            self.now.append(text)

        def flush(self) -> None:
            if self.now:
                self.batches.append(self.now)
                self.now = []

    reporter = Batches()
    Engine(ScriptedProvider(text_turn(*"abcdef"))).run(Session(), "go", reporter=reporter)
    assert [piece for batch in reporter.batches for piece in batch] == list("abcdef")


def test_a_deadline_is_a_status() -> None:
    def never(request: ModelRequest) -> list[StreamEvent]:
        waiting.wait()
        return text_turn("late")

    waiting = threading.Event()
    result = Engine(ScriptedProvider(never)).run(Session(), "go", cancel=CancelToken(timeout=0.05))
    waiting.set()
    assert (result.status, result.cancel_reason) == (RunStatus.DEADLINE, "deadline")


def test_a_reporter_that_wants_ticks_hears_what_the_engine_waits_for() -> None:
    release = threading.Event()

    class Ticking(Reporter):
        def __init__(self) -> None:
            self.heard: list[tuple[float, str]] = []

        def on_tick(self, elapsed_s: float, waiting_for: str) -> None:
            self.heard.append((elapsed_s, waiting_for))
            release.set()

    def slow(request: ModelRequest) -> list[StreamEvent]:
        assert release.wait(30)
        return text_turn("hi")

    reporter = Ticking()
    Engine(ScriptedProvider(slow)).run(Session(), "go", reporter=reporter)
    assert reporter.heard[0][1] == "the first token"
    assert reporter.heard[0][0] > 0


def test_every_call_that_starts_also_finishes() -> None:
    memory = run(
        calls_turn(("add", {"a": 1, "b": 1}), ("add", {"a": "?"}), ("no", {})), text_turn()
    )
    started = [e.call.id for e in memory.events if isinstance(e, ToolStarted)]
    finished = [e.call.id for e in memory.events if isinstance(e, ToolFinished)]
    assert started == finished
    assert len(started) == 3
