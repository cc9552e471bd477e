"""Messages replies beyond the cases: what servers leave out, repeat and add."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.errors import ProviderError, ServerReported, StreamTruncated
from claw.events import ReasoningDelta, StreamEvent, TextDelta
from claw.messages import (
    Message,
    OpaqueBlock,
    ReasoningBlock,
    StopReason,
    TextBlock,
    ToolCall,
    Usage,
)
from claw.providers.messages_assembler import MessagesAssembler
from claw.providers.templates import Hole
from tests.support.anthropic import (
    PING,
    STOP,
    block,
    body,
    delta,
    end,
    head,
    message_of,
    partial,
    read,
    signature,
    tail,
    text,
    thinking,
    whole,
)


def shown(deltas: list[StreamEvent]) -> str:
    return "".join(each.text for each in deltas if isinstance(each, TextDelta))


def test_blocks_keep_their_order_and_what_the_server_wants_back() -> None:
    search = {"id": "srv1", "name": "web_search", "input": {}}
    found = {"tool_use_id": "srv1", "content": [{"encrypted_content": "enc"}]}
    message = message_of(
        head(input_tokens=3),
        block(0, "thinking", thinking="", signature=""),
        thinking(0, "Hm. "),
        thinking(0, "So."),
        signature(0, "sig"),
        end(0),
        block(1, "redacted_thinking", data="red"),
        end(1),
        block(2, "server_tool_use", **search),
        partial(2, '{"query":'),
        partial(2, '"x"}'),
        end(2),
        block(3, "web_search_tool_result", **found),
        end(3),
        block(4, "text", text=""),
        text(4, "Found."),
        end(4),
        tail("end_turn", output_tokens=7),
        STOP,
    )
    assert message == Message(
        "assistant",
        (
            ReasoningBlock("Hm. So.", {"type": "thinking", "signature": "sig"}),
            OpaqueBlock({"type": "redacted_thinking", "data": "red"}),
            OpaqueBlock({"type": "server_tool_use", **search, "input": {"query": "x"}}),
            OpaqueBlock({"type": "web_search_tool_result", **found}),
            TextBlock("Found."),
        ),
        StopReason.END_TURN,
        "end_turn",
        Usage(3, 7),
        "m",
    )
    assert Message.from_dict(message.to_dict()) == message


def test_thinking_that_is_not_shown_is_kept_for_its_signature() -> None:
    message = message_of(block(0, "thinking", thinking=""), signature(0, "sig"), tail(), STOP)
    assert message.blocks == (ReasoningBlock("", {"type": "thinking", "signature": "sig"}),)


def test_empty_blocks_leave_nothing() -> None:
    message = message_of(
        block(0, "thinking", thinking=""), block(1, "text", text=""), text(1, ""), tail(), STOP
    )
    assert message.blocks == ()


def test_without_indexes_the_block_that_began_last_is_meant() -> None:
    message = message_of(
        block(None, "text", text=""),
        text(None, "a"),
        block(None, "tool_use", id="t1", name="ls"),
        partial(None, '{"p":1}'),
        block(None, "tool_use", id="t2", name="ls"),
        partial(None, '{"p":2}'),
        tail("tool_use"),
        STOP,
    )
    assert message.blocks == (
        TextBlock("a"),
        ToolCall("t1", "ls", {"p": 1}),
        ToolCall("t2", "ls", {"p": 2}),
    )


def test_an_index_that_is_used_again_is_a_block_of_its_own() -> None:
    message = message_of(
        block(0, "text", text="a"), block(0, "text", text="b"), text(0, "c"), tail(), STOP
    )
    assert message.blocks == (TextBlock("a"), TextBlock("bc"))


def test_text_in_the_place_of_a_call_is_text() -> None:
    message = message_of(
        block(0, "tool_use", id="t1", name="ls"), text(0, "a"), partial(0, "{}"), tail(), STOP
    )
    assert message.blocks == (ToolCall("t1", "ls"), TextBlock("a"))


def test_deltas_of_an_unknown_block_are_not_text() -> None:
    message = message_of(
        block(0, "text", text="a"),
        block(1, "poem"),
        text(1, "no"),
        thinking(1, "no"),
        partial(1, "no"),
        signature(1, "no"),
        tail(),
        STOP,
    )
    assert message.blocks == (TextBlock("a"),)


def test_arguments_without_a_call_belong_to_nothing() -> None:
    assert message_of(partial(0, "{}"), tail(), STOP).blocks == ()


@pytest.mark.parametrize(
    ("own", "arguments"), [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), (None, {}), ([], {})]
)
def test_a_calls_own_input_counts_where_no_delta_comes(own: Any, arguments: Any) -> None:
    message = message_of(
        block(0, "tool_use", id="t1", name="f", input=own), partial(0, ""), tail(), STOP
    )
    assert message.tool_calls == (ToolCall("t1", "f", arguments),)


def test_a_late_delta_takes_the_place_of_the_own_input() -> None:
    message = message_of(
        block(0, "tool_use", id="t1", name="f", input={"a": 1}),
        tail("tool_use"),
        partial(0, {"a": 2}),
        STOP,
    )
    assert message.tool_calls == (ToolCall("t1", "f", {"a": 2}),)


def test_calls_that_share_an_id_get_different_ones() -> None:
    message = message_of(
        block(0, "tool_use", id="t", name="f"),
        block(1, "tool_use", id="t", name="f"),
        block(2, "tool_use", name="f"),
        tail("tool_use"),
        STOP,
    )
    assert message.tool_calls[0].id == "t"
    assert len({call.id for call in message.tool_calls}) == 3


def test_halves_of_a_character_are_shown_in_the_order_of_the_blocks() -> None:
    pieces = [
        body(block(0, "text", text=""), text(0, "a\ud83d"), text(0, "\ude00b\ud83d"), end(0)),
        body(block(1, "text", text=""), text(1, "c\ud83d")),
        body(block(2, "text", text=""), text(2, "d\ud83d"), tail(), STOP),
    ]
    deltas, outcome = read(pieces)
    assert isinstance(outcome, Message)
    assert shown(deltas) == outcome.text == "a😀b\ufffdc\ufffdd\ufffd"


def test_reasoning_is_no_part_of_the_text() -> None:
    deltas, outcome = read(
        [body(block(0, "thinking"), thinking(0, "Hm"), text(1, "Yes"), tail(), STOP)]
    )
    assert [each for each in deltas if isinstance(each, ReasoningDelta)] == [ReasoningDelta("Hm")]
    assert isinstance(outcome, Message)
    assert shown(deltas) == outcome.text == "Yes"


def test_usage_is_the_largest_of_each_count() -> None:
    counts = {"input_tokens": 5, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300}
    details = {"output_tokens_details": {"thinking_tokens": 4}}
    message = message_of(
        head(**counts, output_tokens=1),
        tail(None, output_tokens=9, input_tokens=0),
        {**tail(output_tokens=8), "usage": {"output_tokens": 12, "input_tokens": None, **details}},
        STOP,
    )
    assert message.usage == Usage(325, 12, 300, 4, cache_write_tokens=20)


def test_without_any_count_there_is_no_usage() -> None:
    assert message_of(text(0, "a"), tail(), STOP).usage is None


def test_an_answer_in_one_piece() -> None:
    message = whole(
        model="m",
        content=[
            {"type": "thinking", "thinking": "Hm", "signature": "sig"},
            {"type": "text", "text": "Yes"},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}},
            {"type": "poem"},
            "no block",
        ],
        stop_reason="tool_use",
        usage={"input_tokens": 3, "output_tokens": 2},
    )
    assert message == Message(
        "assistant",
        (
            ReasoningBlock("Hm", {"type": "thinking", "signature": "sig"}),
            TextBlock("Yes"),
            ToolCall("t1", "ls", {"path": "."}),
        ),
        StopReason.TOOL_USE,
        "tool_use",
        Usage(3, 2),
        "m",
    )


@pytest.mark.parametrize("word", ["stop_sequence", "model_context_window_exceeded", "new_word"])
def test_other_reasons_keep_their_name(word: str) -> None:
    message = message_of(text(0, "a"), tail(word), STOP)
    assert (message.stop_reason, message.stop_word) == (StopReason.OTHER, word)


def test_the_end_mark_without_a_stop_reason_is_a_cut() -> None:
    assert isinstance(read([body(head(), text(0, "a"), STOP)])[1], StreamTruncated)
    assert isinstance(read([body(head(), text(0, "a"), tail(""), STOP)])[1], StreamTruncated)


def test_a_reason_that_means_failure_is_the_servers_error() -> None:
    assert isinstance(read([body(text(0, "a"), tail("error"), STOP)])[1], ServerReported)


def test_nothing_after_the_end_mark_counts() -> None:
    message = message_of(text(0, "a"), tail(), STOP, text(0, "b"))
    assert message.text == "a"


# --- any reply, however it comes --------------------------------------------------------------

words = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", '","text":"x', "\ud83d", "\ude00", "\n", "text", '"}', "é", "[DONE]", "", "{}"]
)
indexes = st.sampled_from([0, 0, 1, 1, 2, None])
odd = st.sampled_from([None, 1, True, [], {}, "x", {"type": []}, [{"type": "text"}]])
deltas_ = st.one_of(
    st.builds(text, indexes, words),
    st.builds(thinking, indexes, words),
    st.builds(partial, indexes, words),
    st.builds(partial, indexes, odd),
    st.builds(signature, indexes, words),
    st.builds(lambda index, value: delta(index, "text", text=value), indexes, odd),
    st.builds(lambda index, a, b: delta(index, "text", text=a, thinking=b), indexes, words, words),
)
openings = st.one_of(
    st.builds(lambda index, words: block(index, "text", text=words), indexes, words),
    st.builds(lambda index, words: block(index, "thinking", thinking=words), indexes, words),
    st.builds(lambda index, value: block(index, "thinking", signature=value), indexes, odd),
    st.builds(
        lambda index, name, value: block(index, "tool_use", id=name, name="f", input=value),
        indexes,
        st.sampled_from(["a", "b", ""]),
        odd,
    ),
    st.builds(lambda index, value: block(index, "server_tool_use", input=value), indexes, odd),
    st.builds(lambda index: block(index, "poem"), indexes),
)
others = st.one_of(
    st.builds(end, st.integers(0, 2)),
    st.builds(tail, st.sampled_from([None, None, "", "end_turn", "tool_use", "max_tokens", "new"])),
    st.builds(lambda value: {"type": "message_progress", "delta": value, "index": value}, odd),
    st.builds(lambda kind: {"type": kind, "error": None}, odd),
    st.builds(lambda value: {"type": "message_delta", "usage": value, "delta": value}, odd),
    st.builds(lambda value: {"type": "content_block_start", "content_block": value}, odd),
    st.builds(lambda value: {"type": "content_block_delta", "delta": value}, odd),
    st.builds(lambda value: {"type": "message_start", "message": value}, odd),
    st.builds(lambda value: {"type": "message", "content": value}, odd),
    st.just(PING),
    st.builds(lambda count: head(input_tokens=count), st.integers(-5, 5)),
)
payloads = st.one_of(deltas_, deltas_, deltas_, openings, others)


class WithoutTemplates(MessagesAssembler):
    """The same assembler, whose payloads are all parsed in full."""

    def hole_in(self, payload: dict[str, Any]) -> Hole | None:
        return None


class Counting(MessagesAssembler):
    """Counts the payloads that were parsed in full."""

    parsed = 0

    def fold(self, payload: dict[str, Any], deltas: list[StreamEvent]) -> int:
        self.parsed += 1
        return super().fold(payload, deltas)


def comparable(outcome: tuple[list[StreamEvent], Message | ProviderError]) -> str:
    """Ids that claw makes up differ from reading to reading."""
    return re.sub(r"'c[0-9a-f]{8}'", "'*'", repr(outcome))


def cut_at(data: bytes, cuts: set[int]) -> list[bytes]:
    places = [0, *sorted(cut % len(data) for cut in cuts), len(data)]
    return [data[start:stop] for start, stop in pairwise(places)]


@given(st.lists(payloads, max_size=25), st.booleans(), st.sets(st.integers(0, 5000), max_size=12))
def test_however_a_reply_is_cut_it_is_the_same(
    written: list[dict[str, Any]], ends: bool, cuts: set[int]
) -> None:
    data = body(*written, *([tail(), STOP] if ends else [PING]))
    in_one = read([data])
    deltas, outcome = in_one
    if isinstance(outcome, Message):
        shown(deltas).encode()
        assert Message.from_dict(outcome.to_dict()) == outcome
    assert comparable(read(cut_at(data, cuts))) == comparable(in_one)


@given(st.lists(payloads, max_size=30))
def test_with_and_without_templates_a_reply_is_the_same(written: list[dict[str, Any]]) -> None:
    pieces = [body(payload) for payload in [*written, tail(), STOP]]
    assert comparable(read(pieces)) == comparable(read(pieces, WithoutTemplates()))


@given(st.binary(max_size=60), st.integers(0, 400))
def test_garbage_in_a_reply_is_an_error_and_no_crash(garbage: bytes, place: int) -> None:
    good = body(head(), block(0, "tool_use", id="t", name="f"), partial(0, '{"a":1}'), tail(), STOP)
    place = min(place, len(good))
    outcome = read([good[:place] + garbage + good[place:]])[1]
    assert isinstance(outcome, Message | ProviderError)


@pytest.mark.parametrize("like", [text, thinking, partial])
def test_events_that_are_alike_are_parsed_in_full_only_at_first(like: Any) -> None:
    calls = [block(index, "tool_use", id=f"t{index}", name="f") for index in range(4)]
    assembler = Counting()
    alike = [like(number % 4, f"piece {number}") for number in range(200)]
    read([body(each) for each in [*calls, *alike, tail(), STOP]], assembler)
    assert assembler.parsed < 15
