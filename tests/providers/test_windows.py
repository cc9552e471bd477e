"""How long a prompt a model takes: by the user's word, by its family, or nobody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from claw.providers.presets import PRESETS
from claw.providers.windows import FAMILIES, context_window, family_window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-3-5-haiku-20241022", 200_000),
        ("claude-opus-4-1-20250805", 200_000),
        ("anthropic/claude-sonnet-4.5", 200_000),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("claude-opus-5", 1_000_000),
        ("gpt-5.1-codex", 272_000),
        ("openai/gpt-5.4", 922_000),
        ("gpt-4.1-mini", 1_047_576),
        ("gpt-4-1106-preview", 128_000),
        ("gpt-4-0613", 8_192),
        ("GPT-4o-mini", 128_000),
        ("openai/gpt-oss-120b", 131_072),
        ("o3-mini", 200_000),
        ("deepseek-chat", 128_000),
        ("deepseek-v4-pro", 1_000_000),
        ("models/gemini-3-pro-preview", 1_048_576),
        ("llama-3.3-70b-versatile", 128_000),
        ("x-ai/grok-4.1-fast", 2_000_000),
    ],
)
def test_a_known_family(model: str, window: int) -> None:
    assert family_window(model) == window


@pytest.mark.parametrize("model", ["my-own-model", "foo1-large", "", "turbo3"])
def test_an_unknown_one(model: str) -> None:
    assert family_window(model) is None


def test_no_row_hides_a_later_one() -> None:
    for part, window in FAMILIES:
        assert family_window(part) == window


def test_on_the_users_own_machine_the_server_sets_it() -> None:
    assert context_window(PRESETS["llamacpp"], "gpt-oss-20b") is None
    assert context_window(PRESETS["groq"], "openai/gpt-oss-20b") == 131_072


@pytest.mark.parametrize("name", ["ollama", "openai"])
def test_what_the_user_says_holds(name: str) -> None:
    preset = replace(PRESETS[name], context_window=40_000)
    assert context_window(preset, "gpt-4o") == 40_000
