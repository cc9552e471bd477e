"""What a server wants otherwise than its dialect says."""

from __future__ import annotations

from claw.values import frozen


@frozen
class Quirks:
    """Deviations, by default none. Plain data: `[presets.NAME.quirks]` in config.toml has the same
    names.

    max_tokens_field: the name of the reply's limit; OpenAI's newer models want
        "max_completion_tokens".
    output_limit: the most tokens that it lets a reply have; it refuses to be asked for more. 0
        where that isn't known.
    stream_options: the server takes `stream_options`; without it some send no usage.
    tools: it takes tools; else none are offered, and it can only talk.
    parallel_calls: several calls in one reply are fine; else it is asked for one at a time.
    calls_in_text: its model may write a tool call as text, which is then taken for one.
    assistant_after_tools: it refuses a user message right after tool results, so a placeholder
        assistant message is put between (Mistral).
    echo_extras: it wants back what it sent along with a reply: reasoning (DeepSeek, OpenRouter),
        thought signatures (Gemini). Others refuse these fields.
    reasoning_field: with echo_extras, a field that every assistant message must have, be it empty
        (DeepSeek: "reasoning_content").
    think_tags: thinking comes at the beginning of the text, as <think>...</think>.
    think_tag_opened: and its first tag is in the prompt already, so a reply begins within.
    effort: how it is told how much to think, a style of effort.py; "" is the dialect's own.
    """

    max_tokens_field: str = "max_tokens"
    output_limit: int = 0
    stream_options: bool = True
    tools: bool = True
    parallel_calls: bool = True
    calls_in_text: bool = False
    assistant_after_tools: bool = False
    echo_extras: bool = False
    reasoning_field: str = ""
    think_tags: bool = False
    think_tag_opened: bool = False
    effort: str = ""


NO_QUIRKS = Quirks()
