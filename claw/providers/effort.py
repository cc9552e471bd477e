"""How much a model is to think, said in the words of its server: a table, as data.

Each style maps a level to fields of the request's body. A model that takes no such field answers
400 and is then asked without it (see mending.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEVELS = ("off", "low", "medium", "high")

Style = Mapping[str, Mapping[str, Any]]


def _named(off: str = "none", low: str = "low", medium: str = "medium") -> Style:
    names = {"off": off, "low": low, "medium": medium, "high": "high"}
    return {level: {"reasoning_effort": name} for level, name in names.items()}


def _thinking_budget(tokens: int) -> Mapping[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def _in_the_template(level: str) -> Mapping[str, Any]:
    wishes = {"enable_thinking": True, "reasoning_effort": level}
    return {"reasoning_effort": level, "chat_template_kwargs": wishes}


STYLES: Mapping[str, Style] = {
    # OpenAI, Gemini, Groq, Ollama, LM Studio
    "reasoning_effort": _named(),
    # Mistral thinks or doesn't
    "high_or_none": _named(low="high", medium="high"),
    # OpenRouter
    "reasoning": {
        **{level: {"reasoning": {"effort": level}} for level in ("low", "medium", "high")},
        "off": {"reasoning": {"effort": "none"}},
    },
    # DeepSeek; it takes "low" and "medium" for "high"
    "thinking": {
        **{
            level: {"thinking": {"type": "enabled"}, "reasoning_effort": level}
            for level in ("low", "medium", "high")
        },
        "off": {"thinking": {"type": "disabled"}},
    },
    # llama.cpp and vLLM hand it to the model's chat template, which knows one of the names
    "chat_template": {
        **{level: _in_the_template(level) for level in ("low", "medium", "high")},
        "off": {"chat_template_kwargs": {"enable_thinking": False}},
    },
    # Anthropic, up to Claude 4.5
    "budget": {
        "off": {"thinking": {"type": "disabled"}},
        "low": _thinking_budget(2048),
        "medium": _thinking_budget(8192),
        "high": _thinking_budget(24576),
    },
    # Anthropic since then: the model itself decides how much, within an effort
    "adaptive": {
        **{
            level: {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
            for level in ("low", "medium", "high")
        },
        "off": {"thinking": {"type": "disabled"}},
    },
}

STYLE_OF_DIALECT: Mapping[str, str] = {"openai": "reasoning_effort", "anthropic": "budget"}


def effort_params(level: str, style: str, dialect: str = "openai") -> dict[str, Any]:
    """The fields that ask for `level`; none for "". `style` "" is the dialect's own."""
    if not level:
        return {}
    return dict(STYLES[style or STYLE_OF_DIALECT[dialect]][level])
