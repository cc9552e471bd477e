"""Tool calls in text: what is taken for one, what isn't, and that nothing cut ever is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw import CancelToken, Engine, MemoryReporter, Session, Tool, allow_all, tool
from claw.events import Completed, Failed, StreamEvent, ToolCallDelta, ToolCallStart
from claw.messages import Message, ReasoningBlock, StopReason, TextBlock, ToolCall
from claw.providers import ModelRequest, OpenAIChat
from claw.providers.quirks import Quirks
from claw.providers.text_calls import recognise
from tests.support import wire
from tests.support.chat import read
from tests.support.server import Server, cut_after, model, serve


@tool
def read_file(path: str, start_line: int = 1) -> str:
    """Read a file."""
    return f"{path} from {start_line}"


@tool
def bash(command: str) -> str:
    """Run a command."""
    return command


TOOLS = [read_file, bash]
CALL = {"name": "read_file", "arguments": {"path": "README.md"}}
AS_JSON = json.dumps(CALL, indent=2)
# What qwen2.5-coder-1.5b wrote through llama.cpp with its own template.
CAPTURED = (
    '```json\n{\n  "name": "read_file",\n  "arguments": {\n    "path": "README.md"\n  }\n}\n```'
)


def reply(text: str, reason: StopReason = StopReason.END_TURN) -> Message:
    return Message("assistant", (TextBlock(text),), reason, "stop")


def seen(message: Message) -> list[Any]:
    """Texts as they stand, calls as (name, arguments)."""
    return [
        (block.name, dict(block.arguments)) if isinstance(block, ToolCall) else block.text  # type: ignore[union-attr]
        for block in recognise(message, TOOLS).blocks
    ]


READ = ("read_file", {"path": "README.md"})


@pytest.mark.parametrize(
    "text",
    [
        CAPTURED,
        CAPTURED + "\n\n\n\n",
        AS_JSON,
        f"\n {AS_JSON}\n",
        f"```\n{AS_JSON}\n```",
        f"```tool_call\r\n{AS_JSON}\r\n```\r\n",
        f"  ```json  \n{AS_JSON}\n  ```",
        f"```json\n{AS_JSON}",
        f"<tool_call>\n{AS_JSON}\n</tool_call>",
        f"```json\n{AS_JSON}```",
        f"<tool_call>{AS_JSON}",
        '{"name": "read_file", "parameters": {"path": "README.md"}}',
        '{"type": "function", "id": "7", "name": "read_file", "arguments": {"path": "README.md"}}',
        '{"name": "read_file", "arguments": "{\\"path\\": \\"README.md\\"}"}',
    ],
)
def test_the_forms_that_small_models_write(text: str) -> None:
    message = recognise(reply(text), TOOLS)
    assert seen(reply(text)) == [READ]
    assert (message.stop_reason, message.text) == (StopReason.TOOL_USE, "")
    assert message.stop_word == "stop"


def test_the_words_around_a_call_keep_their_places() -> None:
    text = f"I look first.\n\n{CAPTURED}\n\nThen I say more."
    assert seen(reply(text)) == ["I look first.", READ, "Then I say more."]


def test_a_call_after_a_block_of_something_else_is_found() -> None:
    text = f"```python\nprint()\n```\n{CAPTURED}"
    assert seen(reply(text)) == ["```python\nprint()\n```", READ]


def test_several_calls_are_taken_in_order_and_have_ids_of_their_own() -> None:
    run = json.dumps({"name": "bash", "arguments": {"command": "echo '```'\necho \"<tool_call>\""}})
    text = f"<tool_call>{AS_JSON}</tool_call>\n<tool_call>{run}</tool_call>\n```json\n{run}\n```"
    calls = recognise(reply(text), TOOLS).tool_calls
    assert [call.name for call in calls] == ["read_file", "bash", "bash"]
    assert len({call.id for call in calls}) == 3
    assert calls[2].arguments["command"] == "echo '```'\necho \"<tool_call>\""


def test_reasoning_and_its_place_are_kept() -> None:
    thinking = ReasoningBlock(f"maybe {CAPTURED}", {"signature": "s"})
    message = Message("assistant", (thinking, TextBlock(CAPTURED)), StopReason.END_TURN)
    first, second = recognise(message, TOOLS).blocks
    assert first is thinking
    assert isinstance(second, ToolCall)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Just words.",
        '{"name": "remove_all", "arguments": {}}',
        '{"name": "read_file", "arguments": {}}',
        '{"name": "read_file", "arguments": {"path": 7}}',
        '{"name": "read_file", "arguments": {"path": "a", "mode": "r"}}',
        '{"name": "read_file", "arguments": {"path": "a"}, "note": "an example"}',
        '{"name": "read_file", "arguments": {"path": "a"}, "parameters": {"path": "b"}}',
        '{"name": "read_file", "arguments": ["a"]}',
        '{"name": "read_file", "arguments": "a"}',
        '{"name": "read_file"}',
        '{"name": {"a": 1}, "arguments": {}}',
        f"[{AS_JSON}]",
        f"To read it I would say {AS_JSON}",
        f"{AS_JSON} is how to call it",
        f"```python\n{AS_JSON}\n```",
        f"```python\nprint()\n```\n{AS_JSON}",
        f"```json\n[1]\n```\n{AS_JSON}",
        f"```xml\n<tool_call>{AS_JSON}</tool_call>\n```",
        f"```markdown\n{AS_JSON}",
        f"```json\nhere: {AS_JSON}\n```",
        f"Use `<tool_call>{AS_JSON}</tool_call>` for that.",
        f"````\n```json\n{AS_JSON}\n```\n````",
        f"~~~\n```json\n{AS_JSON}\n```\n~~~\nis how",
        f"So:\n\n        ```json\n        {AS_JSON}\n        ```",
        f"<think>\nmaybe\n<tool_call>{AS_JSON}</tool_call>\n</think>\nno",
        "x" * 100_001 + f"\n```json\n{AS_JSON}\n```",
        f"```json\n{AS_JSON} // reads it\n```",
        f"```json\n{AS_JSON[:-1]}",
        f"<tool_call>{AS_JSON} and so on",
        f"<tool_call>{AS_JSON[:-2]}</tool_call>",
        '{"name": "read_file", "arguments": {"path": "a", "start_line": NaN}}',
    ],
)
def test_all_else_stays_text(text: str) -> None:
    message = reply(text)
    assert recognise(message, TOOLS) is message


@pytest.mark.parametrize("reason", [r for r in StopReason if r is not StopReason.END_TURN])
def test_a_reply_that_did_not_end_by_itself_is_left_alone(reason: StopReason) -> None:
    message = reply(CAPTURED, reason)
    assert recognise(message, TOOLS) is message


def test_a_reply_with_calls_of_its_own_and_one_without_tools_are_left_alone() -> None:
    own = Message.assistant(
        TextBlock(CAPTURED),
        ToolCall("1", "bash", {"command": "ls"}),
        stop_reason=StopReason.END_TURN,
    )
    assert recognise(own, TOOLS) is own
    assert recognise(reply(CAPTURED), []).tool_calls == ()


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FORMS = ["{}", "```json\n{}\n```", "```\n{}", "<tool_call>\n{}\n</tool_call>", "<tool_call>{}"]


@given(st.text(), st.sampled_from(FORMS), st.sampled_from([None, 2]), st.booleans())
def test_any_command_comes_through_every_form(
    command: str, form: str, indent: int | None, ascii_only: bool
) -> None:
    call = {"name": "bash", "arguments": {"command": command}}
    text = form.replace("{}", json.dumps(call, indent=indent, ensure_ascii=ascii_only))
    assert seen(reply(text)) == [("bash", {"command": command})]


@given(st.sampled_from(FORMS), st.dictionaries(st.text(), JSON_VALUES, max_size=4), st.text())
def test_only_arguments_that_fit_become_a_call(
    form: str, arguments: dict[str, Any], name: str
) -> None:
    for called in (name, "bash", "read_file"):
        text = form.replace("{}", json.dumps({"name": called, "arguments": arguments}))
        for call in recognise(reply(text), TOOLS).tool_calls:
            assert call.name in ("bash", "read_file")
            assert isinstance(call.arguments["command" if call.name == "bash" else "path"], str)


PIECES = ["```json\n", "```", "<tool_call>", "</tool_call>", AS_JSON, AS_JSON[:20], "{", '"', "\n"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join))
def test_no_text_breaks_it_and_none_is_lost_or_made_up(text: str) -> None:
    message = recognise(reply(text), TOOLS)
    rest = iter(text)
    for block in message.blocks:
        if isinstance(block, TextBlock):
            assert all(character in rest for character in block.text)  # a subsequence of the text
        else:
            assert isinstance(block, ToolCall)
            assert (block.name, block.arguments) == READ
    if not message.tool_calls:
        assert message.text == text


@given(st.integers(0, len(CAPTURED) - 1))
def test_a_part_of_a_call_is_none_until_its_last_bracket(length: int) -> None:
    if recognise(reply(CAPTURED[:length]), TOOLS).tool_calls:
        assert length > CAPTURED.rindex("}")


def test_a_reply_of_openings_takes_no_quadratic_time() -> None:
    for text in ("<tool_call>{" * 100_000, "```" + " " * 1_000_000, "```json\n" * 100_000):
        message = reply(text)
        assert recognise(message, TOOLS) is message


CAPTURES = Path(__file__).parents[1] / "captures"


def test_a_real_reply_holds_a_call_and_no_beginning_of_it_does() -> None:
    body = (CAPTURES / "openai-llamacpp-call-in-text.sse").read_bytes()
    assert recognised(body)
    finish = body.index(b'"finish_reason":"stop"')
    for length in range(0, finish, 16):
        assert not recognised(body[:length])


def test_a_real_reply_that_the_output_limit_cut_holds_none() -> None:
    assert not recognised((CAPTURES / "openai-llamacpp-call-in-text-cut.sse").read_bytes())


def recognised(body: bytes) -> bool:
    outcome = read([body])[1]
    return isinstance(outcome, Message) and seen(outcome) == [READ]


@pytest.fixture
def writing() -> Iterator[Server]:
    """A model that writes a call as text, then answers."""
    with serve(model(CAPTURED, "It says hello.")) as server:
        yield server


def test_the_engine_runs_the_call_and_sends_it_back_as_one(writing: Server) -> None:
    quirks, memory, session = Quirks(calls_in_text=True), MemoryReporter(), Session()
    with closing(OpenAIChat("m", base_url=writing.url, proxies={}, quirks=quirks)) as provider:
        engine = Engine(provider, tools=TOOLS, approver=allow_all)
        result = engine.run(session, "Read README.md", reporter=memory)
    assert result.text == "It says hello."
    assert [call.name for call in session.messages[1].tool_calls] == ["read_file"]
    (sent,) = writing.requests[1].messages[1]["tool_calls"]
    assert json.loads(sent["function"]["arguments"]) == {"path": "README.md"}
    assert writing.requests[1].messages[1]["content"] is None


def events_of(url: str, quirks: Quirks, tools: list[Tool]) -> list[StreamEvent]:
    request = ModelRequest([Message.user("Read README.md")], tools=tools)
    with closing(OpenAIChat("m", base_url=url, proxies={}, quirks=quirks)) as provider:
        return list(provider.stream(request, CancelToken()))


def test_the_deltas_show_the_text_then_the_call(writing: Server) -> None:
    *deltas, last = events_of(writing.url, Quirks(calls_in_text=True), TOOLS)
    assert isinstance(last, Completed)
    (call,) = last.message.tool_calls
    assert deltas[-2:] == [
        ToolCallStart(0, call.id, "read_file"),
        ToolCallDelta(0, '{"path": "README.md"}'),
    ]
    assert "".join(delta.text for delta in deltas[:-2]) == CAPTURED  # type: ignore[union-attr]


@pytest.mark.parametrize(("quirk", "tools"), [(False, TOOLS), (True, [])])
def test_without_the_quirk_or_without_tools_text_is_text(
    writing: Server, quirk: bool, tools: list[Tool]
) -> None:
    *_, last = events_of(writing.url, Quirks(calls_in_text=quirk), tools)
    assert isinstance(last, Completed)
    assert (last.message.text, last.message.tool_calls) == (CAPTURED, ())


def test_a_reply_that_is_cut_after_the_call_is_an_error() -> None:
    pieces = [wire.text(piece) for piece in CAPTURED.splitlines(keepends=True)]
    with serve(cut_after(*pieces)) as server:
        *_, last = events_of(server.url, Quirks(calls_in_text=True), TOOLS)
    assert isinstance(last, Failed)
