"""Requests held against the official SDKs' own types, where those packages are installed.

Their params are TypedDicts, which pydantic can check. It drops a key that a type doesn't know, so
what comes out has to be what went in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from claw.messages import Message, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall, ToolResult
from claw.providers import AnthropicMessages, ModelRequest, OpenAIChat
from claw.providers.http_provider import HTTPProvider
from claw.providers.presets import PRESETS
from claw.tools.base import tool

pytestmark = pytest.mark.real


def needs(*packages: str) -> pytest.MarkDecorator:
    missing = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@tool
def read_file(path: str, start_line: int | None = None) -> str:
    """Reads a file."""
    return path


@tool(read_only=True)
def bash(command: str, timeout_s: float = 60) -> str:
    """Runs a command."""
    return command


THOUGHT = ReasoningBlock("I should look.", {"type": "thinking", "signature": "sig"})
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
HIT = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "enc"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [HIT]}

CONVERSATION = (
    Message.user("Look into ä.txt"),
    Message.user("And be quick"),
    Message.assistant(
        THOUGHT,
        OpaqueBlock({"type": "redacted_thinking", "data": "red"}),
        TextBlock("I look."),
        ToolCall("c1", "read_file", {"path": "ä.txt"}),
        ToolCall("c2", "bash", {}, error="cut", raw='{"comm'),
    ),
    Message.tool(ToolResult("c1", "text"), ToolResult("c2", "", is_error=True)),
    Message.assistant(TextBlock("Searching."), OpaqueBlock(SEARCH), OpaqueBlock(FOUND)),
    Message.assistant(TextBlock("Found.")),
    Message.user("Thanks"),
)
REQUESTS = {
    "a question": ModelRequest([Message.user("Hi")]),
    "rules and tools": ModelRequest(
        [Message.user("Hi")], system="Be short.", tools=[read_file, bash], max_tokens=9
    ),
    "a conversation": ModelRequest(CONVERSATION, system="Be short.", tools=[read_file, bash]),
    "in mid-work": ModelRequest(CONVERSATION[:4], tools=[read_file, bash]),
    "a turn that paused": ModelRequest(CONVERSATION[:5], tools=[bash]),
}
each_request = pytest.mark.parametrize("name", REQUESTS)


def validated(params: Any, body: Mapping[str, Any]) -> Any:
    """`body` as pydantic reads it by the type `params`; raises ValidationError."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(params)  # has to outlive the iterators that it makes
    return spelled_out(adapter.validate_python(body))


def spelled_out(value: Any) -> Any:
    """pydantic checks an Iterable only when somebody iterates over it. A block that came from the
    server may be one of the SDK's models, which a caller can send back as it is."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return {key: spelled_out(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [spelled_out(item) for item in value]
    return value


def body_of(provider: HTTPProvider, name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(provider.body_for(REQUESTS[name]))
    return body


@needs("anthropic", "pydantic")
@each_request
def test_the_anthropic_package_takes_the_request(name: str) -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    provider = AnthropicMessages("claude-opus-5-5", base_url="http://host")
    body = body_of(provider, name)
    assert validated(MessageCreateParamsStreaming, body) == body


@needs("anthropic", "pydantic")
def test_the_anthropic_packages_types_are_a_judge_at_all() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from pydantic import ValidationError

    body = body_of(AnthropicMessages("m", base_url="http://host"), "a conversation")
    body["messages"][0]["content"][0]["text"] = 1
    with pytest.raises(ValidationError):
        validated(MessageCreateParamsStreaming, body)
    body["messages"][0]["content"][0] = {"type": "text", "text": "a", "colour": "red"}
    assert validated(MessageCreateParamsStreaming, body) != body


@needs("openai", "pydantic")
@each_request
@pytest.mark.parametrize("preset", ["openai", "generic", "mistral"])
def test_the_openai_package_takes_the_request(name: str, preset: str) -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    quirks = PRESETS[preset].quirks
    body = body_of(OpenAIChat("gpt-x", base_url="http://host/v1", quirks=quirks), name)
    assert validated(CompletionCreateParamsStreaming, body) == body
