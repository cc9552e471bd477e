"""The price table: what the makers themselves charge, in US dollars per million tokens.

As of November 2026, for the standard tier, from the makers' public pages:
    openai      "API pricing", developers.openai.com
    anthropic   "Pricing", platform.claude.com
    gemini      "Gemini Developer API pricing", ai.google.dev
    mistral     "API pricing", mistral.ai
    groq        "Supported models", console.groq.com

What isn't certain isn't here: models whose price was about to change, and names like "-latest"
that move on to another model. Nor is DeepSeek, which charges by the hour of the day. Whoever knows
better writes `[prices.MODEL]` into config.toml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from claw.pricing.price import Price

AS_OF = "2026-11"
DATE = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$", re.ASCII)  # of a snapshot, behind its name


def _claude(input: float, output: float, cached: float, above: Price | None = None) -> Price:
    """A write to the cache that lasts for five minutes is a quarter dearer than input."""
    tier = None if above is None else (100_000, above)
    return Price(input, output, cached, cache_write=input * 1.25, above=tier)


TABLE: Mapping[str, Mapping[str, Price]] = {
    "openai": {
        "gpt-5.5": Price(5, 30, 0.5, above=(272_000, Price(10, 45, 1))),
        "gpt-5.4": Price(2.5, 15, 0.25, above=(272_000, Price(5, 22.5, 0.5))),
        "gpt-5.4-mini": Price(0.75, 4.5, 0.075),
        "gpt-5.4-nano": Price(0.2, 1.25, 0.02),
        "gpt-5.2": Price(1.75, 14, 0.175),
        "gpt-5.1": Price(1.25, 10, 0.125),
        "gpt-5": Price(1.25, 10, 0.125),
        "gpt-5-mini": Price(0.25, 2, 0.025),
        "gpt-5-nano": Price(0.05, 0.4, 0.005),
        "gpt-4.1": Price(2, 8, 0.5),
        "gpt-4.1-mini": Price(0.4, 1.6, 0.1),
        "gpt-4.1-nano": Price(0.1, 0.4, 0.025),
        "gpt-4o": Price(2.5, 10, 1.25),
        "gpt-4o-2024-05-13": Price(5, 15),
        "gpt-4o-mini": Price(0.15, 0.6, 0.075),
        "o3": Price(2, 8, 0.5),
        "o4-mini": Price(1.1, 4.4, 0.275),
    },
    "anthropic": {
        "claude-fable-5-1": _claude(10, 50, 0.25),
        "claude-fable-5": _claude(10, 50, 1),
        "claude-opus-5-5": _claude(4, 20, 0.2),
        "claude-opus-5": _claude(5, 25, 0.5),
        "claude-opus-4-8": _claude(5, 25, 0.5),
        "claude-opus-4-7": _claude(5, 25, 0.5),
        "claude-opus-4-6": _claude(5, 25, 0.5),
        "claude-opus-4-5": _claude(5, 25, 0.5),
        "claude-sonnet-5-5": _claude(2, 10, 0.1),
        "claude-sonnet-5": _claude(2, 10, 0.2),
        "claude-sonnet-4-6": _claude(3, 15, 0.3),
        "claude-sonnet-4-5": _claude(3, 15, 0.3),
        "claude-haiku-5-5": _claude(0.1, 0.5, 0.01, above=_claude(0.5, 2.5, 0.05)),
        "claude-haiku-4-5": _claude(1, 5, 0.1),
    },
    "gemini": {
        "gemini-3.5-flash": Price(1.5, 9, 0.15),
        "gemini-3.1-pro-preview": Price(2, 12, 0.2, above=(200_000, Price(4, 18, 0.4))),
        "gemini-2.5-pro": Price(1.25, 10, 0.125, above=(200_000, Price(2.5, 15, 0.25))),
        "gemini-2.5-flash": Price(0.3, 2.5, 0.03),
        "gemini-2.5-flash-lite": Price(0.1, 0.4, 0.01),
    },
    "mistral": {
        "mistral-large-2512": Price(0.5, 1.5),
        "mistral-medium-2508": Price(0.4, 2),
        "mistral-medium-2505": Price(0.4, 2),
        "mistral-small-2506": Price(0.1, 0.3),
        "codestral-2508": Price(0.3, 0.9),
    },
    "groq": {
        "openai/gpt-oss-120b": Price(0.15, 0.6, 0.075),
        "openai/gpt-oss-20b": Price(0.075, 0.3, 0.0375),
        "llama-3.3-70b-versatile": Price(0.59, 0.79),
        "llama-3.1-8b-instant": Price(0.05, 0.08),
    },
}
"""By preset, and by the model's name there; a dated snapshot costs what its model costs."""


def listed_price(maker: str, model: str) -> Price | None:
    """What `maker` (a preset's name) charges for `model` at its own URL; None: not known."""
    prices = TABLE.get(maker, {})
    return prices.get(model) or prices.get(DATE.sub("", model))
