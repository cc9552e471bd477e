"""Which call a fragment belongs to, whatever the server leaves out, repeats or mixes up."""

from __future__ import annotations

import time
from typing import Any

import pytest

from claw.events import ToolCallDelta, ToolCallStart
from claw.messages import StopReason
from tests.support.chat import STOP, body, call, chunk, message_of, read


def calls_of(*pieces: dict[str, Any]) -> list[tuple[str, Any]]:
    """Name and arguments (the raw text, where they can't be used) of each call."""
    calls = message_of(*pieces, STOP).tool_calls
    assert all(made.id for made in calls)
    assert len({made.id for made in calls}) == len(calls)
    return [(made.name, made.raw if made.error else made.arguments) for made in calls]


def test_ids_tell_calls_apart_at_one_index_also_in_turn() -> None:
    pieces = [
        call(index=0, id=name, name=name, arguments=part)
        for part in ('{"p":', "1}")
        for name in ("a", "b")
    ]
    assert calls_of(*pieces) == [("a", {"p": 1}), ("b", {"p": 1})]


def test_without_an_index_the_id_or_the_call_opened_last_counts() -> None:
    assert calls_of(
        call(id="a", name="a", arguments='{"p":'),
        call(id="b", name="b", arguments='{"q":'),
        call(id="a", arguments="1"),
        call(arguments="}"),
        call(id="b", arguments="2}"),
    ) == [("a", {"p": 1}), ("b", {"q": 2})]


@pytest.mark.parametrize("index", [{}, {"index": None}, {"index": 0}, {"index": "0"}])
def test_with_no_id_a_name_begins_a_new_call_once_the_arguments_are_whole(index: Any) -> None:
    assert calls_of(
        call(**index, name="re"),
        call(**index, name="ad", arguments='{"a":'),
        call(**index, arguments='"}"}'),
        call(**index, name="ls", arguments="{}"),
        call(**index, name="ls", arguments="{}"),
    ) == [("read", {"a": "}"}), ("ls", {}), ("ls", {})]


def test_a_name_repeated_before_the_arguments_are_whole_is_a_repetition() -> None:
    assert calls_of(
        call(index=0, name="ls", arguments='{"a":'), call(index=0, name="ls", arguments="1}")
    ) == [("ls", {"a": 1})]


def test_the_first_id_holds_and_one_that_is_taken_is_replaced() -> None:
    calls = message_of(
        call(index=0, id="a", name="x"),
        call(index=1, id="a", name="y"),
        call(index=2, name="z"),
        call(index=2, id="a"),
        call(index=1, id="a", arguments='{"y":1}'),
        STOP,
    ).tool_calls
    assert [made.name for made in calls] == ["x", "y", "z"]
    assert calls[0].id == "a"
    assert calls[1].arguments == {"y": 1}
    for made in calls[1:]:
        assert len(made.id) == 9
        assert made.id.isalnum()


def test_pieces_that_say_nothing_open_no_call() -> None:
    nothing = (
        {},
        {"index": 0},
        {"index": 1, "type": "function", "function": {"name": ""}},
        5,
        None,
    )
    message = message_of(chunk({"content": "hi", "tool_calls": list(nothing)}), STOP)
    assert message.tool_calls == ()
    assert message.stop_reason is StopReason.END_TURN


def test_a_call_is_told_when_it_begins_and_as_it_grows() -> None:
    deltas, _ = read(
        [
            body(
                call(index=3, id="a", name="ls", arguments=""),
                call(index=5, id="b", name="rm", arguments={"p": "é"}),
                call(index=3, arguments="{}"),
            )
        ]
    )
    assert deltas == [
        ToolCallStart(0, "a", "ls"),
        ToolCallStart(1, "b", "rm"),
        ToolCallDelta(1, '{"p": "é"}'),
        ToolCallDelta(0, "{}"),
    ]


def test_halves_of_surrogate_pairs_are_joined_in_arguments_too() -> None:
    pieces = (
        call(index=0, id="a", name="x", arguments='{"p":"\ud83d'),
        call(index=0, arguments='\ude00"}'),
    )
    deltas, _ = read([body(*pieces, STOP)])
    assert deltas[1:] == [ToolCallDelta(0, '{"p":"'), ToolCallDelta(0, '😀"}')]
    assert calls_of(*pieces) == [("x", {"p": "😀"})]


def test_what_the_server_wants_back_stays_with_its_call() -> None:
    signature = {"google": {"thought_signature": "s"}}
    made = message_of(call(id="a", name="x", extra_content=signature), STOP).tool_calls[0]
    assert made.opaque == {"extra_content": signature}


def test_many_fragments_without_ids_take_linear_time() -> None:
    def seconds(count: int) -> float:
        opened = call(name="x", arguments='{"a":"')
        data = body(opened, *([call(name="x", arguments="}" * 20)] * count))
        begin = time.process_time()
        read([data])
        return time.process_time() - begin

    small, large = (min(seconds(count) for _ in range(3)) for count in (300, 6000))
    assert large < 20 * small * 4 + 0.05  # the square would be 400 times as much
