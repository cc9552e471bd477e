"""The openai SDK: `chat.completions.stream`, which puts the message together itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openai
from openai._streaming import SSEDecoder

from tests.conformance.adapters.terms import OnText, Outcome, call, sdk_error, sse, stop_name

DISTRIBUTION = "openai"
DIALECTS = ("openai",)


def ask(base_url: str, dialect: str, client: Mapping[str, Any], on_text: OnText) -> Outcome:
    sdk = openai.OpenAI(
        base_url=base_url, api_key="none", max_retries=0, timeout=client["idle_timeout"]
    )
    options: Any = {"include_usage": True}
    try:
        with (
            sdk,
            sdk.chat.completions.stream(
                model="m", messages=[{"role": "user", "content": "Hi"}], stream_options=options
            ) as stream,
        ):
            for event in stream:
                if event.type in ("content.delta", "refusal.delta"):
                    on_text(event.delta)
            # get_final_completion would raise for a reply that was cut by its limit.
            return _message(stream.current_completion_snapshot)
    except (openai.OpenAIError, ValueError) as error:
        return sdk_error(error, openai)


def decode(writes: list[bytes]) -> Mapping[str, Any]:
    return sse(SSEDecoder(), writes)


def _message(completion: Any) -> Outcome:
    choice, usage = completion.choices[0], completion.usage
    calls = [
        call(each.id, each.function.name, each.function.arguments)
        for each in choice.message.tool_calls or ()
    ]
    details = usage and usage.prompt_tokens_details
    message = {
        "text": (choice.message.content or "") + (choice.message.refusal or ""),
        "tool_calls": calls,
        "stop_reason": stop_name(choice.finish_reason, has_calls=bool(calls)),
        "usage": usage
        and {
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "cached_tokens": (details and details.cached_tokens) or 0,
        },
    }
    return {"message": message, "stored": str(completion.to_dict())}
