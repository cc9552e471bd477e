"""How much a model is to think, in the words of each server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from claw.providers.effort import LEVELS, STYLE_OF_DIALECT, STYLES, effort_params
from claw.providers.presets import PRESETS


def asked(preset: str, level: str) -> dict[str, Any]:
    known = PRESETS[preset]
    return effort_params(level, known.quirks.effort, known.dialect)


@pytest.mark.parametrize(
    ("preset", "level", "fields"),
    [
        ("openai", "low", {"reasoning_effort": "low"}),
        ("openai", "off", {"reasoning_effort": "none"}),
        ("gemini", "high", {"reasoning_effort": "high"}),
        ("ollama", "medium", {"reasoning_effort": "medium"}),
        ("generic", "low", {"reasoning_effort": "low"}),
        ("mistral", "low", {"reasoning_effort": "high"}),
        ("mistral", "off", {"reasoning_effort": "none"}),
        ("openrouter", "high", {"reasoning": {"effort": "high"}}),
        ("openrouter", "off", {"reasoning": {"effort": "none"}}),
        ("deepseek", "high", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ("deepseek", "off", {"thinking": {"type": "disabled"}}),
        ("llamacpp", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("anthropic", "off", {"thinking": {"type": "disabled"}}),
        ("anthropic", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
    ],
)
def test_the_fields_of_a_level(preset: str, level: str, fields: dict[str, Any]) -> None:
    assert asked(preset, level) == fields


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_knows_every_level_and_sends_nothing_unasked(preset: str) -> None:
    assert asked(preset, "") == {}
    for level in LEVELS:
        assert json.loads(json.dumps(asked(preset, level))) == asked(preset, level) != {}
    assert asked(preset, "off") != asked(preset, "low")


def test_every_style_has_every_level() -> None:
    for style in STYLES.values():
        assert set(style) == set(LEVELS)
    assert set(STYLE_OF_DIALECT) == {preset.dialect for preset in PRESETS.values()}
