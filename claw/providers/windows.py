"""How long a prompt a model takes, by its family, as far as that is known."""

from __future__ import annotations

import re

from claw.providers.presets import Preset

# By the beginning of a part of the model's name, the first that fits. Sources: platform.claude.com
# (models overview) and api-docs.deepseek.com (pricing), October 2026; LiteLLM's table of context
# windows, February 2026; for GPT-5.4 and later, the model pages of gateways, October 2026. Where a
# maker limits the prompt by itself (GPT-5: 272,000 of 400,000 tokens), that counts. A number that
# is too high is put right by the server's first refusal.
FAMILIES = (
    ("claude-3", 200_000),
    ("claude-haiku-4", 200_000),
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-opus-4", 200_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-sonnet-4", 200_000),
    ("claude", 1_000_000),
    ("gpt-5-chat", 128_000),
    ("gpt-5-1-chat", 128_000),
    ("gpt-5-2-chat", 128_000),
    ("gpt-5-4-mini", 272_000),
    ("gpt-5-4-nano", 272_000),
    ("gpt-5-4", 922_000),
    ("gpt-5-5", 922_000),
    ("gpt-5", 272_000),
    ("gpt-4-1106", 128_000),
    ("gpt-4-1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-0125", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3-5", 16_385),
    ("gpt-oss", 131_072),
    ("o1-mini", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("deepseek-v4", 1_000_000),
    ("deepseek-flash", 1_000_000),
    ("deepseek", 128_000),
    ("gemini", 1_048_576),
    ("gemma-3", 131_072),
    ("codestral", 256_000),
    ("devstral-2512", 256_000),
    ("devstral", 128_000),
    ("magistral", 40_000),
    ("mistral-large", 128_000),
    ("mistral-medium", 131_072),
    ("llama-3-1", 128_000),
    ("llama-3-3", 128_000),
    ("llama-4", 128_000),
    ("grok-4-fast", 2_000_000),
    ("grok-4-1-fast", 2_000_000),
    ("grok-4", 256_000),
    ("grok-code", 256_000),
    ("grok", 131_072),
    ("kimi-k2", 131_072),
    ("minimax-m2", 200_000),
    ("qwen3-32b", 131_000),
)


def context_window(preset: Preset, model: str) -> int | None:
    """Tokens; None where it isn't known: of a model of no known family, and of every model on the
    user's own machine, where it is what the server was started with."""
    if preset.context_window or preset.local:
        return preset.context_window or None
    return family_window(model)


def family_window(model: str) -> int | None:
    """Tokens; `model` as any server writes it ("anthropic/claude-opus-4.1", a date at the end)."""
    name = model.lower().replace(".", "-")
    return next((window for part, window in FAMILIES if _named(part, name)), None)


def _named(part: str, name: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){part}", name) is not None
