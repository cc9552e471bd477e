"""claw: OpenAIChat and AnthropicMessages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from claw import CancelToken
from claw.errors import ProviderError
from claw.events import Completed, Failed, TextDelta
from claw.messages import Message, ReasoningBlock, ToolCall
from claw.providers import AnthropicMessages, ModelRequest, OpenAIChat
from claw.providers.sse import SSEDecoder
from tests.conformance.adapters.terms import OnText, Outcome
from tests.support.cases import KINDS, stop_name

DISTRIBUTION = "claw-engine"
PROVIDERS = {"openai": OpenAIChat, "anthropic": AnthropicMessages}
DIALECTS = tuple(PROVIDERS)


def ask(base_url: str, dialect: str, client: Mapping[str, Any], on_text: OnText) -> Outcome:
    new = PROVIDERS[dialect]
    with closing(new("m", base_url=base_url, max_retries=0, proxies={}, **client)) as provider:
        for event in provider.stream(ModelRequest([Message.user("Hi")]), CancelToken()):
            if isinstance(event, TextDelta):
                on_text(event.text)
            elif isinstance(event, Failed):
                assert isinstance(event.error, ProviderError)
                return {"error": _error(event.error)}
            elif isinstance(event, Completed):
                return {"message": _message(event.message), "stored": str(event.message.to_dict())}
    raise AssertionError("neither Completed nor Failed")


def decode(writes: list[bytes]) -> Mapping[str, Any]:
    decoder = SSEDecoder()
    found = [event for data in writes for event in decoder.feed(data)]
    events = [{"event": each.event, "data": each.data, "id": each.id} for each in found]
    return {"events": events, "retry": decoder.retry}


def _message(message: Message) -> dict[str, Any]:
    usage = message.usage
    reasoning = [block.text for block in message.blocks if isinstance(block, ReasoningBlock)]
    return {
        "text": message.text,
        "reasoning": "".join(reasoning),
        "tool_calls": [_call(call) for call in message.tool_calls],
        "stop_reason": stop_name(message),
        "usage": None if usage is None else usage.to_dict(),
    }


def _call(call: ToolCall) -> dict[str, Any]:
    named = {"id": call.id, "name": call.name}
    if call.error is None:
        return {**named, "arguments": dict(call.arguments)}
    return {**named, "invalid_arguments": call.raw}


def _error(error: ProviderError) -> dict[str, Any]:
    kind = next((name for name, classes in KINDS.items() if isinstance(error, classes)), "other")
    return {**error.to_dict(), "kind": kind}
