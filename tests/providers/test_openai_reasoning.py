"""Reasoning in all its fields, and how it goes back to the server."""

from __future__ import annotations

from claw.events import ReasoningDelta
from claw.messages import Message, ReasoningBlock
from claw.providers.openai_reasoning import join_details, reasoning_keys
from tests.support.chat import STOP, body, chunk, message_of, read, text


def reasoning_of(*deltas: object) -> ReasoningBlock:
    message = message_of(*(chunk(delta) for delta in deltas), STOP)
    block = message.blocks[0]
    assert isinstance(block, ReasoningBlock)
    return block


def test_reasoning_goes_back_in_the_field_it_came_in() -> None:
    for field in ("reasoning_content", "reasoning"):
        block = reasoning_of({field: "I should "}, {field: "look.", "content": "Ok."})
        assert block.text == "I should look."
        assert reasoning_keys(block) == {field: "I should look."}


def test_what_both_fields_say_counts_once_and_what_only_one_says_counts() -> None:
    block = reasoning_of(
        {"reasoning": "a", "reasoning_content": "a"}, {"reasoning": "b", "reasoning_content": "c"}
    )
    assert block.text == "acb"


def test_details_are_joined_and_go_back_beside_the_text() -> None:
    block = reasoning_of(
        {
            "reasoning": "Hm",
            "reasoning_details": [{"type": "reasoning.text", "text": "H", "index": 0, "id": None}],
        },
        {"reasoning_details": [{"type": "reasoning.text", "text": "m", "index": 0, "id": "r"}]},
        {"reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "e", "index": 1}]},
        {"content": "Hi"},
    )
    assert reasoning_keys(block) == {
        "reasoning": "Hm",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "Hm", "index": 0, "id": "r", "signature": "s"},
            {"type": "reasoning.encrypted", "data": "e", "index": 1},
        ],
    }


def test_details_without_an_index_stay_as_they_are() -> None:
    details = [{"type": "t", "text": "a"}, {"type": "t", "text": "b"}, {"index": {}, "text": "c"}]
    assert join_details(details) == details


def test_a_signature_without_any_reasoning_is_kept() -> None:
    signature = {"google": {"thought_signature": "s"}}
    block = reasoning_of({"reasoning": "x"}, {"content": "Hi", "extra_content": signature})
    assert reasoning_keys(block) == {"reasoning": "x", "extra_content": signature}
    message = message_of(text("Hi"), chunk({"extra_content": signature}), STOP)
    assert [reasoning_keys(b) for b in message.blocks if isinstance(b, ReasoningBlock)] == [
        {"extra_content": signature}
    ]
    assert Message.from_dict(message.to_dict()) == message


def test_blocks_of_other_dialects_add_nothing() -> None:
    assert reasoning_keys(ReasoningBlock("x")) == {}
    assert reasoning_keys(ReasoningBlock("x", "signature")) == {}


def test_thinking_parts_are_reasoning_and_other_parts_are_passed_over() -> None:
    parts = [
        {"type": "thinking", "thinking": "a"},
        {"type": "thinking", "thinking": [{"type": "text", "text": "b"}, {"text": 5}, 5]},
        {"type": "image", "text": "NO"},
        {"type": "text", "text": 5},
        {"type": "text", "text": "c"},
        5,
    ]
    deltas, _ = read([body(chunk({"content": parts}), STOP)])
    assert deltas[:2] == [ReasoningDelta("a"), ReasoningDelta("b")]
    assert message_of(chunk({"content": parts}), STOP).text == "c"
