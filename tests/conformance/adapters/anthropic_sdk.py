"""The anthropic SDK: `messages.stream`, which puts the message together itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anthropic
from anthropic._streaming import SSEDecoder

from tests.conformance.adapters.terms import OnText, Outcome, sdk_error, sse, stop_name

DISTRIBUTION = "anthropic"
DIALECTS = ("anthropic",)


def ask(base_url: str, dialect: str, client: Mapping[str, Any], on_text: OnText) -> Outcome:
    sdk = anthropic.Anthropic(
        base_url=base_url.removesuffix("/v1"),
        api_key="none",
        max_retries=0,
        timeout=client["idle_timeout"],
    )
    try:
        with (
            sdk,
            sdk.messages.stream(
                model="m", max_tokens=1024, messages=[{"role": "user", "content": "Hi"}]
            ) as stream,
        ):
            for text in stream.text_stream:
                on_text(text)
            return _message(stream.get_final_message())
    except (anthropic.AnthropicError, ValueError) as error:
        return sdk_error(error, anthropic)


def decode(writes: list[bytes]) -> Mapping[str, Any]:
    return sse(SSEDecoder(), writes)


def _message(message: Any) -> Outcome:
    blocks, usage = message.content, message.usage
    calls = [
        {"id": block.id, "name": block.name, **_arguments(block.input)}
        for block in blocks
        if block.type == "tool_use"
    ]
    cached = usage.cache_read_input_tokens or 0
    told = {
        "text": "".join(block.text for block in blocks if block.type == "text"),
        "reasoning": "".join(block.thinking for block in blocks if block.type == "thinking"),
        "tool_calls": calls,
        "stop_reason": stop_name(message.stop_reason, has_calls=bool(calls)),
        "usage": {
            "input_tokens": usage.input_tokens + (usage.cache_creation_input_tokens or 0) + cached,
            "output_tokens": usage.output_tokens,
            "cached_tokens": cached,
        },
    }
    return {"message": told, "stored": str(message.to_dict())}


def _arguments(value: Any) -> dict[str, Any]:
    return {"arguments": value} if isinstance(value, dict) else {"invalid_arguments": value}
