"""Calls: judged in order, run, told in order, answered together."""

from __future__ import annotations

import contextvars
import threading
from pathlib import Path

import pytest

from claw import (
    CancelToken,
    Decision,
    Engine,
    MemoryReporter,
    Message,
    RunStatus,
    Session,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolOutput,
    allow_all,
    tool,
)
from claw.engine.limits import CALLS_OF_A_REPLY
from claw.engine.work import BoundedText
from claw.events import StreamEvent, ToolFinished, ToolProgress
from claw.providers import ModelRequest, ScriptedProvider, text_turn, tool_turn
from claw.providers.scripted import calls_turn
from claw.tools import coding_tools


@tool
def echo(text: str) -> str:
    """Says it again."""
    return text


def play(
    *turns: object, tools: list[Tool], session: Session | None = None, **options: object
) -> MemoryReporter:
    memory = MemoryReporter()
    options = {"approver": allow_all, **options}
    engine = Engine(ScriptedProvider(*turns, text_turn("end")), tools=tools, **options)  # type: ignore[arg-type]
    engine.run(session or Session(), "go", reporter=memory)
    return memory


def only_result(memory: MemoryReporter) -> tuple[str, bool]:
    (result,) = memory.tool_results
    return result.content, result.is_error


def test_an_unknown_tool_is_named_with_those_that_exist() -> None:
    content, is_error = only_result(play(tool_turn("ekho", text="x"), tools=[echo]))
    assert is_error
    assert "ekho" in content
    assert "echo" in content


@pytest.mark.parametrize("arguments", [{}, {"text": 3}, {"text": "x", "more": 1}])
def test_arguments_that_do_not_fit_are_refused_before_anyone_is_asked(
    arguments: dict[str, object],
) -> None:
    asked: list[ToolCall] = []

    def approver(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        asked.append(call)
        return Decision(True)

    content, is_error = only_result(
        play(tool_turn("echo", **arguments), tools=[echo], approver=approver)
    )
    assert is_error
    assert "wrong arguments for echo" in content
    assert asked == []


def test_a_call_with_bad_json_is_not_run_and_its_siblings_are() -> None:
    def turn(request: ModelRequest) -> list[StreamEvent]:
        events = calls_turn(("echo", {"text": "fine"}))
        bad = ToolCall("bad", "echo", error="Expecting value at column 9", raw='{"text": ')
        message = events[-1].message  # type: ignore[union-attr]
        blocks = (bad, *message.blocks)
        return [type(events[-1])(Message("assistant", blocks, message.stop_reason))]  # type: ignore[call-arg]

    memory = play(turn, tools=[echo])
    bad, good = memory.tool_results
    assert bad.is_error
    assert "Expecting value" in bad.content
    assert '{"text": ' in bad.content
    assert (good.content, good.is_error) == ("fine", False)


def test_what_a_tool_raises_becomes_its_result() -> None:
    @tool
    def expected() -> str:
        """Fails in words."""
        raise ToolError("no such file: a.txt")

    @tool
    def broken() -> str:
        """Has a bug."""
        raise KeyError("oops")

    @tool
    def leaves() -> str:
        """Ends its thread."""
        raise SystemExit(3)

    calls = calls_turn(("expected", {}), ("broken", {}), ("leaves", {}))
    first, second, third = play(calls, tools=[expected, broken, leaves]).tool_results
    assert (first.content, first.is_error) == ("no such file: a.txt", True)
    assert second.is_error
    assert "KeyError" in second.content
    assert third.is_error


def test_an_approver_that_returns_something_else_is_told_so() -> None:
    with pytest.raises(TypeError, match="must return a Decision, not True"):
        play(tool_turn("echo", text="x"), tools=[echo], approver=lambda *unused: True)


def test_an_interrupt_raised_on_a_tools_thread_stays_there() -> None:
    @tool
    def odd() -> str:
        """Raises what only Ctrl-C should."""
        raise KeyboardInterrupt

    memory = play(tool_turn("odd"), tools=[odd])
    assert only_result(memory) == ("interrupted", True)
    assert memory.text == "end"


def test_a_tool_output_says_by_itself_whether_it_is_an_error() -> None:
    @tool
    def half() -> ToolOutput:
        """Fails softly."""
        return ToolOutput("exit code 1", is_error=True, details={"exit_code": 1})

    memory = play(tool_turn("half"), tools=[half])
    assert only_result(memory) == ("exit code 1", True)
    (finished,) = [e for e in memory.events if isinstance(e, ToolFinished)]
    assert finished.details == {"exit_code": 1}


def test_a_denial_tells_the_model_why() -> None:
    memory = play(
        tool_turn("echo", text="x"),
        tools=[echo],
        approver=lambda *unused: Decision(False, "use the other one"),
    )
    assert only_result(memory) == ("denied: use the other one", True)
    assert memory.text == "end"


def test_a_decision_that_ends_the_run_leaves_this_call_and_the_rest_unrun() -> None:
    ran: list[str] = []

    @tool
    def note(word: str) -> str:
        """Notes."""
        ran.append(word)
        return word

    def approver(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        stop = call.arguments["word"] == "two"
        return Decision(not stop, end=RunStatus.NEEDS_APPROVAL if stop else None)

    session = Session()
    calls = calls_turn(*(("note", {"word": word}) for word in ("one", "two", "three")))
    memory = play(calls, tools=[note], approver=approver, session=session)
    assert memory.result is not None
    assert memory.result.status is RunStatus.NEEDS_APPROVAL
    assert ran == ["one"]
    results = session.messages[-1].tool_results
    assert [r.is_error for r in results] == [False, True, True]


def test_calls_that_write_run_one_after_the_other() -> None:
    running = threading.Lock()

    @tool
    def write(name: str) -> str:
        """Writes."""
        assert running.acquire(blocking=False)
        running.release()
        return name

    calls = calls_turn(*(("write", {"name": str(n)}) for n in range(5)))
    assert [r.is_error for r in play(calls, tools=[write]).tool_results] == [False] * 5


def test_every_call_has_its_own_copy_of_the_callers_context() -> None:
    colour: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")

    @tool
    def paint() -> str:
        """Sees and changes its copy."""
        seen = colour.get()
        colour.set("from the tool")
        return seen

    def approver(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        return Decision(True)

    colour.set("red")
    memory = play(calls_turn(("paint", {}), ("paint", {})), tools=[paint], approver=approver)
    assert [r.content for r in memory.tool_results] == ["red", "red"]
    assert colour.get() == "red"


def test_tools_run_on_named_daemon_threads_unless_they_want_the_callers() -> None:
    threads: list[threading.Thread] = []

    def look() -> str:
        """Looks where it runs."""
        threads.append(threading.current_thread())
        return ""

    tools = [tool(name="own")(look), tool(name="caller", caller_thread=True)(look)]
    play(calls_turn(("own", {}), ("caller", {})), tools=tools)
    own, caller = threads
    assert (own.name, own.daemon) == ("claw-tool", True)
    assert caller is threading.current_thread()


def test_live_output_is_told_before_the_result() -> None:
    @tool
    def talk(context: ToolContext) -> str:
        """Talks."""
        context.output("one ")
        context.output("two")
        return "result"

    memory = play(tool_turn("talk"), tools=[talk])
    progress = [e for e in memory.events if isinstance(e, ToolProgress)]
    assert "".join(e.text for e in progress) == "one two"
    order = [type(e) for e in memory.events if isinstance(e, (ToolProgress, ToolFinished))]
    assert order[-1] is ToolFinished


def test_output_of_a_tool_on_the_callers_thread_is_told_when_it_returns() -> None:
    def talk(context: ToolContext) -> str:
        """Talks."""
        for _ in range(100):
            context.output("x")
        return ""

    memory = play(tool_turn("talk"), tools=[tool(caller_thread=True)(talk)])
    progress = [e for e in memory.events if isinstance(e, ToolProgress)]
    assert "".join(e.text for e in progress) == "x" * 100


def test_a_flood_of_live_output_never_blocks_the_tool_and_the_loss_is_counted() -> None:
    piece, pieces = "x" * 1000, 1000
    written = threading.Event()

    class Slow(MemoryReporter):
        def on_event(self, event: object) -> None:
            super().on_event(event)  # type: ignore[arg-type]
            if isinstance(event, ToolProgress):
                assert written.wait(30)

    @tool
    def flood(context: ToolContext) -> str:
        """Floods."""
        for _ in range(pieces):
            context.output(piece)
        written.set()
        return ""

    memory = Slow()
    Engine(
        ScriptedProvider(tool_turn("flood"), text_turn()), tools=[flood], approver=allow_all
    ).run(Session(), "go", reporter=memory)
    progress = [e for e in memory.events if isinstance(e, ToolProgress)]
    assert sum(len(e.text) + e.dropped for e in progress) == len(piece) * pieces
    assert max(len(e.text) for e in progress) <= 64_000
    assert sum(e.dropped for e in progress) > 0


def test_the_newest_text_is_kept_and_the_rest_counted() -> None:
    text = BoundedText(limit=5)
    for piece in ("abc", "def", "", "ghijklmnop"):
        text.add(piece)
    assert text.take() == ("lmnop", 11)
    assert text.take() == ("", 0)


def test_a_family_of_tools_shares_its_state_within_a_session() -> None:
    def remember(context: ToolContext) -> str:
        """Counts."""
        context.state["count"] = context.state.get("count", 0) + 1
        return str(context.state["count"])

    tools = [
        tool(name="one", family="counting")(remember),
        tool(name="two", family="counting")(remember),
        tool(name="alone")(remember),
    ]
    calls = calls_turn(("one", {}), ("two", {}), ("alone", {}))
    memory = play(calls, tools=tools)
    assert [r.content for r in memory.tool_results] == ["1", "2", "1"]


def test_tools_get_the_folder_and_an_environment_without_keys(tmp_path: Path) -> None:
    seen: list[ToolContext] = []

    @tool
    def look(context: ToolContext) -> str:
        """Looks."""
        seen.append(context)
        return ""

    class WithKey(ScriptedProvider):
        secrets = ("sk-very-secret",)

    env = {
        "PATH": "/bin",
        "CLAW_API_KEY": "a",
        "OPENAI_API_KEY": "b",
        "COPY": "sk-very-secret",
        "OTHER": "c",
    }
    provider = WithKey(tool_turn("look"), text_turn())
    engine = Engine(provider, tools=[look], approver=allow_all, cwd=tmp_path, env=env)
    engine.run(Session(), "go")
    assert seen[0].cwd == tmp_path
    assert seen[0].env == {"PATH": "/bin", "OTHER": "c"}


@pytest.mark.parametrize("read_only", [False, True])
def test_a_reply_that_is_a_loop_by_itself_ends_the_run_at_its_third_call(read_only: bool) -> None:
    tool = Tool("echo", "", echo.parameters, lambda args, ctx: args["text"], read_only=read_only)
    session = Session()
    memory = play(calls_turn(*[("echo", {"text": "x"})] * 100), tools=[tool], session=session)
    assert memory.result is not None
    assert memory.result.status is RunStatus.LOOP
    assert [r.is_error for r in memory.tool_results] == [False, False, True]
    assert len(session.messages[-1].tool_results) == 100


@pytest.mark.parametrize("count", [CALLS_OF_A_REPLY, CALLS_OF_A_REPLY + 1, 1000])
def test_of_far_too_many_calls_the_first_are_run(count: int) -> None:
    session = Session()
    many = calls_turn(*(("echo", {"text": str(n)}) for n in range(count)))
    memory = play(many, tools=[echo], session=session)
    beyond = count - CALLS_OF_A_REPLY
    results = session.messages[2].tool_results
    assert [r.content for r in results[:CALLS_OF_A_REPLY]] == [
        str(n) for n in range(CALLS_OF_A_REPLY)
    ]
    assert len(results) == count
    assert all(r.is_error and "too many calls" in r.content for r in results[CALLS_OF_A_REPLY:])
    assert len(memory.tool_calls) == len(memory.tool_results) == CALLS_OF_A_REPLY
    assert len(memory.notices) == (1 if beyond else 0)
    assert memory.result is not None
    assert memory.result.status is RunStatus.COMPLETED


def test_what_is_told_to_start_is_told_to_finish_also_when_a_group_ends_the_run() -> None:
    reading = Tool("read", "", echo.parameters, lambda args, ctx: args["text"], read_only=True)
    ending = Decision(False, end=RunStatus.NEEDS_APPROVAL)
    calls = calls_turn(*(("read", {"text": str(n)}) for n in range(3)))
    session = Session()
    memory = play(calls, tools=[reading], approver=lambda *unused: ending, session=session)
    assert [c.id for c in memory.tool_calls] == [r.call_id for r in memory.tool_results]
    assert len(memory.tool_calls) == 1
    assert len(session.messages[-1].tool_results) == 3


def test_details_that_are_not_json_are_a_fault_of_the_tool() -> None:
    @tool
    def odd() -> ToolOutput:
        """Tells reporters something they can't write down."""
        return ToolOutput("fine", details={"where": Path("/")})

    content, is_error = only_result(play(tool_turn("odd"), tools=[odd]))
    assert is_error
    assert "JSON" in content


def test_a_schema_that_is_none_is_a_fault_of_the_tool() -> None:
    odd = Tool("odd", "", {"type": "nonsense"}, lambda arguments, context: "")
    content, is_error = only_result(play(tool_turn("odd"), tools=[odd]))
    assert is_error
    assert "fault of the tool" in content


def test_what_was_allowed_is_what_is_done(tmp_path: Path) -> None:
    """A file that changes while the question is open is not overwritten."""
    (tmp_path / "a.txt").write_text("one\n")
    shown: list[str | None] = []

    def slow_user(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        assert tool.preview is not None
        shown.append(tool.preview(call.arguments, ToolContext(call, cancel, tmp_path)))
        (tmp_path / "a.txt").write_text("saved by the user\n")
        return Decision(True)

    memory = play(
        tool_turn("write_file", path="a.txt", content="two\n"),
        tools=coding_tools(tmp_path),
        approver=slow_user,
        cwd=tmp_path,
    )
    content, is_error = only_result(memory)
    assert is_error
    assert "while the question was open" in content
    assert (tmp_path / "a.txt").read_text() == "saved by the user\n"
    assert "+two" in (shown[0] or "")


def test_a_preview_that_finds_the_call_bound_to_fail_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")

    def asks(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        assert tool.preview is not None
        tool.preview(call.arguments, ToolContext(call, cancel, tmp_path))
        raise AssertionError("asked in vain")

    edits = [{"old_text": "not there", "new_text": "x"}]
    memory = play(
        tool_turn("edit_file", path="a.txt", edits=edits),
        tools=coding_tools(tmp_path),
        approver=asks,
        cwd=tmp_path,
    )
    content, is_error = only_result(memory)
    assert is_error
    assert "not found" in content
