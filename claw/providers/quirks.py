"""What a server wants otherwise than its dialect says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quirks:
    """Deviations, by default none. It is also the key under which encoded messages are kept.

    max_tokens_field: the name of the reply's limit; OpenAI's newer models want
        "max_completion_tokens".
    stream_options: the server takes `stream_options`; without it some send no usage.
    assistant_after_tools: it refuses a user message right after tool results, so a placeholder
        assistant message is put between (Mistral).
    echo_extras: it wants back what it sent along with a reply: reasoning (DeepSeek, OpenRouter),
        thought signatures (Gemini). Others refuse these fields.
    """

    max_tokens_field: str = "max_tokens"
    stream_options: bool = True
    assistant_after_tools: bool = False
    echo_extras: bool = False


NO_QUIRKS = Quirks()
