"""The body of a Chat Completions request."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from claw.errors import ConfigError
from claw.messages import Block, Message, ReasoningBlock, TextBlock, ToolCall, ToolResult
from claw.providers import messages_request
from claw.providers.base import ModelRequest
from claw.providers.chat_request import PLACEHOLDER, encode_request
from claw.providers.openai_chat import OpenAIChat
from claw.providers.quirks import NO_QUIRKS, Quirks
from claw.tools.base import tool
from tests.support.wire import history_fault

CALL = ToolCall("c1", "read_file", {"path": "ä.txt"})
RESULT = ToolResult("c1", "text of ä.txt")


def body_of(*messages: Message, quirks: Quirks = NO_QUIRKS, **more: Any) -> dict[str, Any]:
    params = more.pop("params", {})
    decoded: dict[str, Any] = json.loads(
        encode_request(ModelRequest(messages, **more), "m", params, quirks)
    )
    return decoded


def wire_of(*messages: Message, quirks: Quirks = NO_QUIRKS) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = body_of(*messages, quirks=quirks)["messages"]
    return sent


@tool
def greet(name: str) -> str:
    """Says hello."""
    return name


@pytest.mark.parametrize("encode", [encode_request, messages_request.encode_request])
def test_what_is_no_json_is_never_sent(encode: Callable[..., bytes]) -> None:
    """A provider of somebody's own may put NaN into a history, and a tool into its schema."""
    odd = replace(greet, parameters={"type": "object", "default": math.inf})
    asked = Message.assistant(ToolCall("c1", "greet", {"name": [math.nan, -math.inf, 1.5]}))
    history = [Message.user("Hi"), asked, Message.tool(RESULT)]
    body = encode(ModelRequest(history, tools=[odd]), "m", {}, NO_QUIRKS)
    refuse = pytest.fail  # called for NaN and Infinity alone
    text = json.dumps(json.loads(body, parse_constant=refuse))
    assert "[null, null, 1.5]" in text.replace("\\", "")
    assert '"default": null' in text


def test_the_fields_of_a_request() -> None:
    assert body_of(Message.user("Hi"), system="Be short.", tools=[greet], max_tokens=5) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 5,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "greet",
                    "description": "Says hello.",
                    "parameters": greet.parameters,
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Hi"},
        ],
    }


def test_params_add_fields_but_cannot_turn_streaming_off() -> None:
    body = body_of(Message.user("Hi"), params={"temperature": 0, "stream": False, "messages": []})
    assert body["temperature"] == 0
    assert body["stream"] is True
    assert body["messages"] == [{"role": "user", "content": "Hi"}]


def test_calls_and_results() -> None:
    sent = wire_of(
        Message.user("Read it"),
        Message.assistant(TextBlock("I look."), CALL, ToolCall("c2", "read_file", {})),
        Message.tool(RESULT, ToolResult("c2", "no path", is_error=True)),
    )
    assert sent[1:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path": "ä.txt"}'},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "text of ä.txt"},
        {"role": "tool", "tool_call_id": "c2", "content": "no path"},
    ]
    assert history_fault(sent) is None


def test_unusable_arguments_go_back_as_an_empty_object() -> None:
    call = ToolCall("c1", "read_file", {}, error="cut", raw='{"path": "a')
    sent = wire_of(Message.assistant(call), Message.tool(RESULT))
    assert sent[0]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(
    ("name", "sent_as"), [("functions.read file", "functions_read_file"), ("", "unnamed")]
)
def test_a_name_that_servers_refuse_is_made_acceptable(name: str, sent_as: str) -> None:
    sent = wire_of(Message.assistant(ToolCall("c1", name)), Message.tool(RESULT))
    assert sent[0]["tool_calls"][0]["function"]["name"] == sent_as


def test_user_messages_that_stand_together_are_one() -> None:
    sent = wire_of(
        Message.user('One "quoted"'), Message.user("Two\n"), Message.assistant(TextBlock("Yes"))
    )
    assert sent == [
        {"role": "user", "content": 'One "quoted"\n\nTwo\n'},
        {"role": "assistant", "content": "Yes"},
    ]


def test_an_empty_answer_gets_a_placeholder() -> None:
    assert wire_of(Message.assistant()) == [{"role": "assistant", "content": PLACEHOLDER}]
    only_thought = Message.assistant(ReasoningBlock("hm"))
    assert wire_of(only_thought) == [{"role": "assistant", "content": PLACEHOLDER}]


def test_half_a_surrogate_pair_does_not_stop_a_request() -> None:
    assert wire_of(Message.user("a\ud800b")) == [{"role": "user", "content": "a?b"}]


def test_the_quirks() -> None:
    history = (Message.assistant(CALL), Message.tool(RESULT), Message.user("Go on"))
    quirks = Quirks(
        max_tokens_field="max_completion_tokens", stream_options=False, assistant_after_tools=True
    )
    body = body_of(*history, quirks=quirks, max_tokens=9)
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body
    assert "stream_options" not in body
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["assistant", "tool", "assistant", "user"]
    assert [m["role"] for m in wire_of(*history)] == ["assistant", "tool", "user"]


def test_tools_are_offered_only_where_they_are_taken() -> None:
    tools = [greet]
    assert "parallel_tool_calls" not in body_of(Message.user("Hi"), tools=tools)
    one = body_of(Message.user("Hi"), tools=tools, quirks=Quirks(parallel_calls=False))
    assert (len(one["tools"]), one["parallel_tool_calls"]) == (1, False)
    none = body_of(Message.user("Hi"), tools=tools, quirks=Quirks(tools=False))
    assert not none.keys() & {"tools", "parallel_tool_calls"}
    without = body_of(Message.user("Hi"), quirks=Quirks(parallel_calls=False))
    assert "parallel_tool_calls" not in without  # refused where there are no tools


def test_reasoning_goes_back_only_where_it_is_wanted() -> None:
    thought = ReasoningBlock("hm", {"field": "reasoning", "reasoning_details": [{"a": 1}]})
    split_off = ReasoningBlock("of think tags")
    foreign = ReasoningBlock("hm", {"type": "thinking", "signature": "of another dialect"})
    answer = TextBlock("Yes")

    def sent(*blocks: Block, **quirks: Any) -> dict[str, Any]:
        message = wire_of(Message.assistant(*blocks), quirks=Quirks(**quirks))[0]
        return {name: value for name, value in message.items() if name not in ("role", "content")}

    assert sent(thought, answer) == {}
    echoed = {"reasoning": "hm", "reasoning_details": [{"a": 1}]}
    assert sent(thought, answer, echo_extras=True) == echoed
    assert sent(split_off, answer, echo_extras=True) == {}
    assert sent(foreign, answer, echo_extras=True) == {}
    deepseek: dict[str, Any] = {"echo_extras": True, "reasoning_field": "reasoning_content"}
    assert sent(thought, answer, **deepseek)["reasoning_content"] == "hm"
    assert sent(answer, **deepseek) == {"reasoning_content": ""}


def test_extras_go_back_only_where_they_are_wanted() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "sig"}}}
    message = Message.assistant(ToolCall("c1", "ls", opaque=extra))
    plain = wire_of(message)[0]["tool_calls"][0]
    echoed = wire_of(message, quirks=Quirks(echo_extras=True))[0]["tool_calls"][0]
    assert "extra_content" not in plain
    assert echoed == plain | extra


def test_the_beginning_of_a_body_stays_the_same_from_turn_to_turn() -> None:
    history = [Message.user("Hi"), Message.assistant(TextBlock("Yes"))]
    first = encode_request(ModelRequest(history, system="S"), "m", {}, NO_QUIRKS)
    history += [Message.user("More"), Message.assistant(TextBlock("No"))]
    second = encode_request(ModelRequest(history, system="S"), "m", {}, NO_QUIRKS)
    assert second.startswith(first[: -len(b"]}")])


def test_a_long_history_is_encoded_once() -> None:
    """Measured: 4 ms a turn for 10,000 messages, 40 ms for the first one."""
    history = [
        message
        for number in range(2500)
        for message in (
            Message.user(f"question {number}"),
            Message.assistant(ToolCall(f"c{number}", "ls", {"path": "x" * 200})),
            Message.tool(ToolResult(f"c{number}", "y" * 500)),
            Message.assistant(TextBlock("answer " * 20)),
        )
    ]
    request = ModelRequest(history)
    first = encode_request(request, "m", {}, NO_QUIRKS)
    start = time.thread_time()
    assert encode_request(request, "m", {}, NO_QUIRKS) == first
    assert time.thread_time() - start < 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"base_url": ""}, "base URL"),
        ({"base_url": "localhost:8080/v1"}, "base URL"),
        ({"base_url": "ftp://host/v1"}, "base URL"),
        ({"base_url": "http://host:port/v1"}, "base URL"),
        ({"base_url": "http://"}, "base URL"),
        ({"base_url": "http://me:secret@host/v1"}, "user name or a password"),
        ({"base_url": "http://host/v1?x=1"}, "base URL"),
        ({"api_key": "sk-secret\n"}, "API key"),
        ({"api_key": "sk secret"}, "API key"),
        ({"api_key": "sk-seçret"}, "API key"),
        ({"headers": {"X-Secret": "secret\r\nX: 1"}}, "X-Secret"),
        ({"headers": {"": "x"}}, "header"),
        ({"params": {"stop": {1, 2}}}, "params"),
        ({"params": {"temperature": math.nan}}, "params"),
        ({"params": {"logit_bias": {"5": [-math.inf]}}}, "params"),
        ({"model": ""}, "model"),
    ],
)
def test_what_the_user_must_mend_is_said_at_once(options: dict[str, Any], words: str) -> None:
    settings = {"model": "m", "base_url": "http://host/v1"} | options
    with pytest.raises(ConfigError, match=words) as caught:
        OpenAIChat(settings.pop("model"), **settings)
    assert "\n" not in caught.value.message
    assert "secret" not in caught.value.message


def test_the_key_is_in_no_repr() -> None:
    provider = OpenAIChat("m", base_url="http://host/v1/", api_key="sk-0123456789")
    assert "sk-0123456789" not in repr(provider) + repr(provider.endpoint)
    assert provider.endpoint.url == "http://host/v1/chat/completions"
