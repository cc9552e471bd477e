"""ReplyReader: what a transport relies on, and that no bytes and no cutting can surprise it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.errors import (
    ConnectionLost,
    ProtocolError,
    ProviderError,
    ServerReported,
    StreamStalled,
    StreamTruncated,
)
from claw.events import ReasoningDelta, StreamEvent, TextDelta, ToolCallDelta, ToolCallStart
from claw.messages import Message, StopReason
from claw.providers.chat_assembler import ChatAssembler
from claw.providers.reply import ReplyReader
from tests.support.chat import DONE, STOP, body, call, chunk, error_of, read, text

# Payloads of every sort, sane and not.
SCALARS = (
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "a", "😀", "\ud83d"])
)
WORDS = st.sampled_from(["stop", "tool_calls", "length", "error", "", "eos"])
PIECES = st.fixed_dictionaries(
    {},
    optional={
        "index": st.integers(0, 2) | SCALARS,
        "id": st.sampled_from(["call_1", "call_2"]) | SCALARS,
        "function": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["read", "_file"]) | SCALARS,
                "arguments": st.sampled_from(["{", "}", '"a":', "1", "{}", '"']) | SCALARS,
            },
        )
        | SCALARS,
    },
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": SCALARS | st.lists(st.fixed_dictionaries({"type": WORDS, "text": SCALARS})),
        "reasoning_content": SCALARS,
        "reasoning": SCALARS,
        "reasoning_details": st.lists(st.fixed_dictionaries({"index": SCALARS, "text": SCALARS})),
        "refusal": SCALARS,
        "tool_calls": SCALARS | st.lists(PIECES | SCALARS, max_size=3),
        "function_call": SCALARS | st.fixed_dictionaries({"name": SCALARS, "arguments": SCALARS}),
    },
)
CHUNKS = st.builds(chunk, DELTAS | SCALARS, WORDS | SCALARS)
ODD = st.sampled_from(
    [
        *({}, [], None, 5, "text", DONE, " [DONE] ", ": keep-alive", "{", '{"a":1}\ndata: {"b":2}'),
        *({"choices": None}, {"choices": {}}, {"choices": [5, None]}, {"error": None}),
        *({"error": "boom"}, {"usage": {"prompt_tokens": "x"}}, {"x_groq": 5}),
    ]
)
STREAMS = st.lists(CHUNKS | ODD, max_size=6).map(lambda payloads: body(*payloads))
FRAMES = st.sampled_from(
    [
        *(b"data: ", b"event: error\n", b"error: ", b"\n", b"\r", b"\n\n", b": ping\n\n", b" "),
        *(
            b"{",
            b"}",
            b"[",
            b"]",
            b'"',
            b"<html>",
            b"\xef\xbb\xbf",
            b"\xe4\xbd",
            b"null",
            b"[DONE]",
        ),
        *(body(STOP), body(text("hi")), json.dumps(STOP).encode(), body(DONE)),
    ]
)
BODIES = STREAMS | st.lists(FRAMES, max_size=12).map(b"".join) | st.binary(max_size=50)
BROKEN = st.sampled_from([None, ConnectionLost("cut"), StreamStalled("silent")])


def in_bytes(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def comparable(deltas: list[StreamEvent], outcome: Message | ProviderError) -> Any:
    """Without the ids that claw makes up, which differ from reply to reply."""
    told = [(d.index, d.name) if isinstance(d, ToolCallStart) else d for d in deltas]
    if isinstance(outcome, ProviderError):
        return told, outcome
    blocks = [{**block.to_dict(), "id": None} for block in outcome.blocks]
    return told, {**outcome.to_dict(), "blocks": blocks}


@given(BODIES, BROKEN, st.integers(2, 9))
def test_any_bytes_give_a_message_or_a_provider_error_however_they_are_cut(
    data: bytes, broken: ProviderError | None, size: int
) -> None:
    whole = comparable(*read([data], broken))
    assert comparable(*read(in_bytes(data), broken)) == whole
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert comparable(*read(pieces, broken)) == whole


@given(BODIES, st.integers(1, 40))
def test_the_size_limit_strikes_at_the_same_place_however_the_body_is_cut(
    data: bytes, limit: int
) -> None:
    whole = comparable(*read([data], max_reply_bytes=limit))
    assert comparable(*read(in_bytes(data), max_reply_bytes=limit)) == whole


@given(STREAMS)
def test_what_was_shown_is_what_the_message_says_and_can_be_written(data: bytes) -> None:
    deltas, outcome = read([data])
    shown = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    shown.encode()
    json.dumps([delta.to_dict() for delta in deltas], ensure_ascii=False).encode()
    if isinstance(outcome, Message):
        assert outcome.text == shown
        json.dumps(outcome.to_dict(), ensure_ascii=False, allow_nan=False).encode()
        assert Message.from_dict(outcome.to_dict()) == outcome
        ids = [made.id for made in outcome.tool_calls]
        assert all(ids)
        assert len(set(ids)) == len(ids)


def test_a_reader_tells_the_transport_where_it_stands() -> None:
    reader = ReplyReader(ChatAssembler())
    assert (reader.began, reader.settling, reader.ended, reader.belonging) == (False,) * 3 + (0,)
    reader.feed(b": ping\n\n" + body("null"))
    assert not reader.began
    reader.feed(body(chunk({"role": "assistant"})))
    assert reader.began
    assert reader.belonging == 0
    assert reader.feed(body(text("hi"))) == [TextDelta("hi")]
    assert (reader.settling, reader.belonging) == (False, 1)
    reader.feed(body(STOP))
    assert (reader.settling, reader.ended, reader.belonging) == (True, False, 2)
    reader.feed(b": ping\n\n" + body(chunk({}), {"choices": []}))
    assert reader.belonging == 2
    usage = {"choices": [], "usage": {"prompt_tokens": 1}}
    reader.feed(body(usage, usage))
    assert reader.belonging == 3  # the same counts again are nothing new
    reader.feed(body(DONE))
    assert reader.ended
    assert reader.feed(body(text("late"))) == []
    assert reader.finish().text == "hi"


def test_deltas_before_a_fault_are_told_and_then_the_fault() -> None:
    reader = ReplyReader(ChatAssembler())
    assert reader.feed(body(text("Hel"), {"error": "boom"}, text("lo"))) == [TextDelta("Hel")]
    assert reader.ended
    with pytest.raises(ServerReported, match="boom"):
        reader.feed(b"more")
    with pytest.raises(ServerReported, match="boom"):
        reader.finish()


@pytest.mark.parametrize("broken", [None, ConnectionLost("cut"), StreamStalled("silent")])
def test_with_a_finish_reason_a_break_is_no_fault(broken: ProviderError | None) -> None:
    outcome = read([body(text("hi"), STOP), b"data: {"], broken)[1]
    assert isinstance(outcome, Message)
    assert outcome.text == "hi"


def test_without_a_finish_reason_there_is_no_message() -> None:
    lost = ConnectionLost("cut")
    assert read([body(text("hi"))], lost)[1] is lost
    assert isinstance(read([body(text("hi"), DONE)])[1], StreamTruncated)
    assert isinstance(read([])[1], StreamTruncated)


def test_late_text_arguments_and_usage_belong_to_the_reply() -> None:
    late = (text("lo"), {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}})
    outcome = read([body(text("Hel"), STOP, *late, DONE)])[1]
    assert isinstance(outcome, Message)
    assert outcome.usage is not None
    assert (outcome.text, outcome.usage.output_tokens) == ("Hello", 4)


REPLY = {
    "choices": [{"message": {"content": "Hi", "tool_calls": []}, "finish_reason": "stop"}],
    "model": "m",
}


@pytest.mark.parametrize("before", [b"", b"\n \t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_a_json_answer_is_read_as_soon_as_it_is_whole(before: bytes) -> None:
    reader = ReplyReader(ChatAssembler())
    data = before + json.dumps(REPLY).encode()
    assert [reader.feed(byte) for byte in in_bytes(data[:-1])] == [[]] * (len(data) - 1)
    assert reader.feed(data[-1:]) == [TextDelta("Hi")]
    assert reader.ended
    assert (message := reader.finish(ConnectionLost("later"))).text == "Hi"
    assert message.model == "m"


@pytest.mark.parametrize("left_out", [1, 12, 25, 60])
def test_a_json_answer_that_is_cut_is_not_a_reply(left_out: int) -> None:
    lost = ConnectionLost("cut")
    part = json.dumps(REPLY).encode()[:-left_out]
    assert isinstance(read([part])[1], StreamTruncated)
    assert read([part], lost)[1] is lost


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b'{"choices":[{"message":{"content":"x"}}]}', StreamTruncated, "finish reason"),
        (b'{"detail":"Not Found"}', ProtocolError, "Not Found"),
        (b"[]", ProtocolError, "no reply"),
        (b"{x}", ProtocolError, "{x}"),
        (b"{oops: not JSON", ProtocolError, "{oops"),
        (b'[{"error":{"message":"no such model","code":404}}]', ServerReported, "no such model"),
        (b"\n<!DOCTYPE html><title>Sign in</title>", ProtocolError, "HTML"),
    ],
)
def test_other_bodies_with_status_200(data: bytes, kind: type[ProviderError], words: str) -> None:
    outcome = read([data])[1]
    assert isinstance(outcome, kind)
    assert words in outcome.message
    assert outcome.retryable is (kind is StreamTruncated)


@pytest.mark.parametrize(
    "data",
    [
        b"event: error\ndata: boom\n\n",
        b'event: error\ndata: "boom"\n\n',
        b'event: error\ndata: {"message":"boom"}\n\n',
        b'error: "boom"\n',
        b'error: {"message":"boom"}\ndata: [DONE]\n\n',
        *(body(error) for error in ({"error": {"message": "boom"}}, {"error_message": "boom"})),
        body({"object": "error", "message": "boom"}),
        body({"type": "error", "error": {"type": "api_error", "message": "boom"}}),
        body({"choices": [{"error": {"message": "boom"}, "finish_reason": "error"}]}),
    ],
)
def test_an_error_is_an_error_in_every_shape(data: bytes) -> None:
    calls = body(call(index=0, id="a", name="ls", arguments="{}"), chunk({}, "tool_calls"))
    for before in (b"", body(text("Hel")), calls):
        outcome = read([before + data + body(DONE)])[1]
        assert isinstance(outcome, ServerReported)
        assert "boom" in outcome.message


@pytest.mark.parametrize(
    "data", [b"error: not JSON\n\n", b"error: null\n\n", b"event: error\ndata: null\n\n"]
)
def test_what_only_looks_like_an_error_is_none(data: bytes) -> None:
    assert isinstance(read([data + body(text("hi"), STOP)])[1], Message)


@pytest.mark.parametrize("word", ["error", "network_error", "ABORT"])
def test_a_failed_generation_is_no_stop_reason(word: str) -> None:
    error = error_of(text("Hel"), chunk({}, word))
    assert isinstance(error, ServerReported)
    assert error.retryable
    assert word in error.message


def test_lost_data_can_be_asked_for_again_once_a_good_event_came() -> None:
    assert not error_of("{oops").retryable
    lost = error_of(text("Hel"), "{oops", STOP, DONE)
    assert isinstance(lost, ProtocolError)
    assert lost.retryable
    assert "{oops" in lost.message


def test_foreign_text_in_an_error_is_one_short_printable_line() -> None:
    for error in (
        error_of("\x1b[2J" + "<p>\n" * 500),
        error_of({"error": "\x1b[2J\n" + "x" * 5000}),
    ):
        assert error.message.isprintable()
        assert len(error.message) < 700


@pytest.mark.parametrize("key", ["content", "reasoning", "refusal"])
def test_text_and_reasoning_have_a_limit_together(key: str) -> None:
    deltas, outcome = read([body(*([chunk({key: "é" * 10})] * 10))], max_reply_bytes=100)
    assert isinstance(outcome, ProtocolError)
    assert not outcome.retryable
    assert "limit of 100 bytes" in outcome.message
    assert len(deltas) == 6  # the one that breaks the limit is shown


def test_arguments_have_the_same_limit() -> None:
    pieces = [call(index=0, id="a", name="x")] + [call(index=0, arguments="x" * 10)] * 20
    assert isinstance(read([body(*pieces)], max_reply_bytes=100)[1], ProtocolError)


def test_deep_nesting_is_a_provider_error_at_worst() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert isinstance(error_of('{"a":' + deep + "}"), ProtocolError)
    assert isinstance(read([deep.encode()])[1], ProtocolError)
    assert isinstance(read([b"error: " + deep.encode() + b"\n\n"])[1], StreamTruncated)


def test_each_sort_of_delta() -> None:
    deltas, outcome = read(
        [
            body(
                chunk({"role": "assistant", "content": ""}),
                chunk({"content": "Hi", "reasoning": "Hm"}),
                call(index=0, id="a", name="ls", arguments=""),
                call(index=0, arguments="{}"),
                chunk({}, "tool_calls", model="m"),
            )
        ]
    )
    assert deltas == [
        ReasoningDelta("Hm"),
        TextDelta("Hi"),
        ToolCallStart(0, "a", "ls"),
        ToolCallDelta(0, "{}"),
    ]
    assert isinstance(outcome, Message)
    assert [block.type for block in outcome.blocks] == ["reasoning", "text", "tool_call"]
    assert outcome.stop_reason is StopReason.TOOL_USE
    assert (outcome.stop_word, outcome.model) == ("tool_calls", "m")
