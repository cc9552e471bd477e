"""The body of a Messages request."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from claw.messages import (
    Block,
    Message,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolCall,
    ToolResult,
)
from claw.providers.anthropic import AnthropicMessages
from claw.providers.base import ModelRequest
from claw.providers.chat_request import encode_request as encode_chat_request
from claw.providers.messages_request import CACHE_MARK, NO_OUTPUT, encode_request
from claw.providers.output_limits import output_limit
from claw.providers.quirks import NO_QUIRKS, Quirks
from claw.tools.base import tool
from tests.support.anthropic import whole

CALL = ToolCall("c1", "read_file", {"path": "ä.txt"})
RESULT = ToolResult("c1", "text of ä.txt")
CACHE = {"type": "ephemeral"}
THOUGHT = ReasoningBlock("I should look.", {"type": "thinking", "signature": "sig"})
REDACTED = OpaqueBlock({"type": "redacted_thinking", "data": "red"})


def body_of(*messages: Message, quirks: Quirks = NO_QUIRKS, **more: Any) -> dict[str, Any]:
    params = more.pop("params", {})
    decoded: dict[str, Any] = json.loads(
        encode_request(ModelRequest(messages, **more), "m", params, quirks)
    )
    return decoded


def turns_of(*messages: Message) -> list[tuple[str, Any]]:
    """(role, content) of what is sent, without the marks of the cache."""
    sent = body_of(*messages)["messages"]
    return [(turn["role"], [without_mark(block) for block in turn["content"]]) for turn in sent]


def without_mark(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


def marked_turns(*messages: Message) -> list[int]:
    """Which turns end with a mark; none has one elsewhere."""
    marked = []
    for number, turn in enumerate(body_of(*messages)["messages"]):
        *others, last = turn["content"]
        assert not any("cache_control" in block for block in others)
        if "cache_control" in last:
            marked.append(number)
    return marked


def assistant(*blocks: Block) -> Message:
    return Message.assistant(*blocks)


@tool
def greet(name: str) -> str:
    """Says hello."""
    return name


@tool
def leave() -> str:
    """Says goodbye."""
    return "bye"


def test_the_fields_of_a_request() -> None:
    assert body_of(Message.user("Hi"), system="Be short.", tools=[greet], max_tokens=5) == {
        "model": "m",
        "max_tokens": 5,
        "stream": True,
        "tools": [
            {"name": "greet", "description": "Says hello.", "input_schema": greet.parameters}
        ],
        "system": [{"type": "text", "text": "Be short.", "cache_control": CACHE}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": CACHE}]}
        ],
    }


def test_params_add_fields_but_cannot_turn_streaming_off() -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    params = {"thinking": thinking, "stream": False, "messages": [], "max_tokens": 9000}
    body = body_of(Message.user("Hi"), params=params)
    assert (body["thinking"], body["stream"], body["max_tokens"]) == (thinking, True, 9000)
    assert len(body["messages"]) == 1


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("claude-opus-5-5", 64_000),
        ("claude-sonnet-4-5-20250929", 64_000),
        ("claude-opus-4-1-20250805", 32_000),
        ("anthropic/claude-opus-4.1", 32_000),
        ("claude-sonnet-4-20250514", 32_000),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", 32_000),
        ("claude-3-5-haiku-latest", 8_192),
        ("claude-3-haiku-20240307", 4_096),
        ("qwen2.5-coder-1.5b-instruct", 8_192),
    ],
)
def test_a_limit_is_always_sent_as_the_models_family_can_bear_it(model: str, limit: int) -> None:
    assert output_limit(model) == limit
    body = json.loads(encode_request(ModelRequest([Message.user("Hi")]), model, {}, NO_QUIRKS))
    assert body["max_tokens"] == limit


@pytest.mark.parametrize(
    ("asked", "budget", "sent"), [(5000, 1024, 1024), (5000, 5000, 2500), (2000, 24_000, None)]
)
def test_a_limit_that_was_asked_for_holds_whatever_the_thinking_wants(
    asked: int, budget: int, sent: int | None
) -> None:
    params = {"thinking": {"type": "enabled", "budget_tokens": budget}}
    body = body_of(Message.user("Hi"), params=params, max_tokens=asked)
    assert body["max_tokens"] == asked
    assert body.get("thinking", {}).get("budget_tokens") == sent


@pytest.mark.parametrize(
    ("asked", "budget", "limit", "sent"),
    [
        (50_000, 1024, 8192, 1024),
        (None, 70_000, 8192, 4096),
        (None, 2048, 1024, None),
        (500, 0, 500, None),
    ],
)
def test_the_servers_own_limit_holds_before_all_others(
    asked: int | None, budget: int, limit: int, sent: int | None
) -> None:
    params = {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget else {}
    quirks = Quirks(output_limit=max(limit, 1024))
    for more in ({"max_tokens": asked}, {"params": {**params, "max_tokens": asked or 90_000}}):
        body = body_of(Message.user("Hi"), quirks=quirks, **{"params": params, **more})
        assert body["max_tokens"] == limit
        assert body.get("thinking", {}).get("budget_tokens") == sent


def test_without_a_limit_there_is_room_for_thinking_and_answer() -> None:
    params = {"thinking": {"type": "enabled", "budget_tokens": 70_000}}
    body = body_of(Message.user("Hi"), params=params)
    assert body["max_tokens"] > 70_000
    assert body["thinking"]["budget_tokens"] == 70_000


def test_calls_and_results() -> None:
    assert turns_of(
        Message.user("Read it"),
        assistant(TextBlock("I look."), CALL, ToolCall("c2", "read_file")),
        Message.tool(RESULT, ToolResult("c2", "no path", is_error=True)),
        Message.user("Go on"),
    ) == [
        ("user", [{"type": "text", "text": "Read it"}]),
        (
            "assistant",
            [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "ä.txt"}},
                {"type": "tool_use", "id": "c2", "name": "read_file", "input": {}},
            ],
        ),
        (
            "user",
            [
                {"type": "tool_result", "tool_use_id": "c1", "content": "text of ä.txt"},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": "no path",
                    "is_error": True,
                },
                {"type": "text", "text": "Go on"},
            ],
        ),
    ]


def test_unusable_arguments_go_back_as_an_empty_object() -> None:
    call = ToolCall("c1", "read_file", {}, error="cut", raw='{"path": "a')
    ((_, (sent,)), _) = turns_of(assistant(call), Message.tool(RESULT))
    assert sent["input"] == {}


def test_names_and_ids_of_other_makers_are_made_acceptable() -> None:
    call = ToolCall("functions.read file:0", "functions.read file")
    ((_, (sent,)), (_, (result,))) = turns_of(
        assistant(call), Message.tool(ToolResult("functions.read file:0", "x"))
    )
    assert (sent["id"], sent["name"]) == ("functions_read_file_0", "functions_read_file")
    assert result["tool_use_id"] == sent["id"]


@pytest.mark.parametrize("content", ["", " \n"])
def test_a_result_without_words_gets_some(content: str) -> None:
    (_, (_, (sent,))) = turns_of(
        assistant(CALL), Message.tool(ToolResult("c1", content, is_error=True))
    )
    assert sent["content"] == NO_OUTPUT


def test_blank_text_is_never_sent_and_roles_alternate() -> None:
    assert turns_of(
        Message.user("One"),
        assistant(TextBlock("")),
        Message.user("Two"),
        assistant(TextBlock(" \n"), CALL),
        Message.tool(RESULT),
        assistant(),
        Message.user(""),
    ) == [
        ("user", [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]),
        (
            "assistant",
            [{"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "ä.txt"}}],
        ),
        ("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "text of ä.txt"}]),
    ]


def test_thinking_goes_back_as_it_came() -> None:
    message = assistant(THOUGHT, REDACTED, TextBlock(" Yes. "), CALL)
    (_, (_, sent), _) = turns_of(Message.user("Hi"), message, Message.tool(RESULT))
    assert sent[:3] == [
        {"type": "thinking", "thinking": "I should look.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "red"},
        {"type": "text", "text": " Yes. "},
    ]


def test_thinking_that_was_cut_off_stays_away() -> None:
    cut = ReasoningBlock("I shou", {"type": "thinking", "signature": ""})
    assert turns_of(Message.user("Hi"), assistant(cut), Message.user("Well?")) == [
        ("user", [{"type": "text", "text": "Hi"}, {"type": "text", "text": "Well?"}])
    ]
    (_, (_, sent), _) = turns_of(Message.user("Hi"), assistant(CALL, cut), Message.tool(RESULT))
    assert [block["type"] for block in sent] == ["tool_use"]


@pytest.mark.parametrize("opaque", [{"type": "thinking", "signature": ""}, {"type": "thinking"}])
def test_thinking_without_a_signature_stays_away_wherever_it_stands(opaque: object) -> None:
    """The API refuses an empty one; some gateways send none."""
    unsigned = ReasoningBlock("I should look.", opaque)
    message = assistant(unsigned, THOUGHT, unsigned, TextBlock("Yes."), unsigned, CALL)
    (_, (_, sent), _) = turns_of(Message.user("Hi"), message, Message.tool(RESULT))
    assert [block["type"] for block in sent] == ["thinking", "text", "tool_use"]
    assert sent[0]["signature"] == "sig"


def test_a_reply_is_sent_back_block_by_block() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "red"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "ü"}]},
        {"type": "text", "text": "Found."},
        {"type": "tool_use", "id": "c1", "name": "greet", "input": {"name": "you"}},
    ]
    message = whole(content=content, stop_reason="tool_use")
    (_, turn, _) = turns_of(Message.user("Hi"), message, Message.tool(RESULT))
    assert turn == ("assistant", content)
    kept = Message.from_dict(json.loads(json.dumps(message.to_dict())))
    assert turns_of(Message.user("Hi"), kept, Message.tool(RESULT))[1] == turn


def test_a_turn_that_paused_is_sent_again_with_its_blocks() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    paused = assistant(TextBlock("Searching."), OpaqueBlock(search))
    found = assistant(TextBlock("Found."))
    assert turns_of(Message.user("Hi"), paused)[-1][1][-1] == search
    assert [role for role, _ in turns_of(Message.user("Hi"), paused, found)] == [
        "user",
        "assistant",
    ]


def test_the_reasoning_of_another_dialect_stays_away_and_ours_stays_away_from_it() -> None:
    chat = ReasoningBlock("hm", {"field": "reasoning_content"})
    assert turns_of(assistant(chat, ReasoningBlock("hm"), TextBlock("Yes"))) == [
        ("assistant", [{"type": "text", "text": "Yes"}])
    ]
    request = ModelRequest([assistant(THOUGHT, REDACTED, TextBlock("Yes"))])
    sent = json.loads(encode_chat_request(request, "m", {}, Quirks(echo_extras=True)))
    assert sent["messages"] == [{"role": "assistant", "content": "Yes"}]


def test_half_a_surrogate_pair_does_not_stop_a_request() -> None:
    assert turns_of(Message.user("a\ud800b")) == [("user", [{"type": "text", "text": "a?b"}])]


def test_the_quirks() -> None:
    one_by_one = body_of(Message.user("Hi"), tools=[greet], quirks=Quirks(parallel_calls=False))
    assert one_by_one["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert "tools" not in body_of(Message.user("Hi"), tools=[greet], quirks=Quirks(tools=False))


# --- prompt caching ---------------------------------------------------------------------------


def conversation(steps: int) -> list[Message]:
    """A question and so many steps, each a call and its result."""
    history = [Message.user("Begin")]
    for number in range(steps):
        history += [
            assistant(THOUGHT, ToolCall(f"c{number}", "greet", {"name": f"{number}"})),
            Message.tool(ToolResult(f"c{number}", f"hello {number}")),
        ]
    return history


def test_the_stable_front_has_one_mark() -> None:
    both = body_of(Message.user("Hi"), system="S", tools=[greet, leave])
    assert both["system"][-1]["cache_control"] == CACHE
    assert not any("cache_control" in tool for tool in both["tools"])
    tools_alone = body_of(Message.user("Hi"), tools=[greet, leave])
    assert ["cache_control" in tool for tool in tools_alone["tools"]] == [False, True]


def test_the_last_turn_is_marked_and_where_the_request_before_it_ended() -> None:
    assert marked_turns(*conversation(0)) == [0]
    assert marked_turns(*conversation(1)) == [0, 2]
    assert marked_turns(*conversation(5)) == [8, 10]
    assert marked_turns(*conversation(5), Message.user("And?")) == [8, 10]


def test_a_question_marks_no_more_places_than_a_server_takes() -> None:
    request = ModelRequest(conversation(30), system="S", tools=[greet, leave])
    assert encode_request(request, "m", {}, NO_QUIRKS).count(b'"cache_control"') <= 4


def test_but_for_the_marks_the_beginning_of_a_body_stays_the_same_from_turn_to_turn() -> None:
    previous = b""
    for steps in range(6):
        request = ModelRequest(conversation(steps), system="S", tools=[greet], max_tokens=9)
        body = encode_request(request, "claude", {"top_k": 1}, NO_QUIRKS)
        front, messages = body.split(b'"messages":', 1)
        unmarked = front + messages.replace(CACHE_MARK, b"}")
        assert unmarked.startswith(previous[: -len(b"]}")])
        assert front.endswith(CACHE_MARK + b"],")
        previous = unmarked


def test_marks_are_no_part_of_what_is_kept_with_a_message() -> None:
    history = conversation(1)
    first = encode_request(ModelRequest(history), "m", {}, NO_QUIRKS)
    assert encode_request(ModelRequest(history), "m", {}, NO_QUIRKS) == first
    assert not any(b"cache_control" in kept for m in history for kept in m.encodings.values())


def test_a_long_history_is_encoded_once() -> None:
    """Measured: 7 ms a turn for 10,000 messages, 60 ms for the first one."""
    history = [
        message
        for number in range(2500)
        for message in (
            Message.user(f"question {number}"),
            assistant(ToolCall(f"c{number}", "ls", {"path": "x" * 200})),
            Message.tool(ToolResult(f"c{number}", "y" * 500)),
            assistant(TextBlock("answer " * 20)),
        )
    ]
    request = ModelRequest(history)
    first = encode_request(request, "m", {}, NO_QUIRKS)
    start = time.thread_time()
    assert encode_request(request, "m", {}, NO_QUIRKS) == first
    assert time.thread_time() - start < 0.3


# --- where it goes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.example", "https://api.example/v1/messages"),
        ("https://api.example/", "https://api.example/v1/messages"),
        ("https://api.example/v1", "https://api.example/v1/messages"),
        ("https://api.example/v1/", "https://api.example/v1/messages"),
        ("http://host:1/anthropic", "http://host:1/anthropic/v1/messages"),
        ("http://v1", "http://v1/v1/messages"),
    ],
)
def test_the_version_is_put_in_where_it_is_missing(base_url: str, url: str) -> None:
    assert AnthropicMessages("m", base_url=base_url).endpoint.url == url


def test_the_headers_and_that_the_key_is_in_no_repr() -> None:
    provider = AnthropicMessages("m", base_url="http://host", api_key="sk-ant-0123456789")
    headers = provider.endpoint.headers
    assert headers["x-api-key"] == "sk-ant-0123456789"
    assert headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in headers
    assert "sk-ant-0123456789" not in repr(provider) + repr(provider.endpoint)
    assert provider.secrets == ("sk-ant-0123456789",)
    assert "x-api-key" not in AnthropicMessages("m", base_url="http://host").endpoint.headers


def test_a_header_of_the_users_wins() -> None:
    headers = {"Anthropic-Version": "2026-10-21", "anthropic-beta": "x"}
    sent = AnthropicMessages("m", base_url="http://host", headers=headers).endpoint.headers
    assert sent["Anthropic-Version"] == "2026-10-21"
    assert "anthropic-version" not in sent
    assert sent["anthropic-beta"] == "x"
