"""Providers: what claw asks a model through. Each is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from claw.providers.base import ModelRequest, Provider, StreamingProvider

if TYPE_CHECKING:
    from claw.providers.anthropic import AnthropicMessages as AnthropicMessages
    from claw.providers.fallback import Choice as Choice
    from claw.providers.fallback import FallbackProvider as FallbackProvider
    from claw.providers.openai_chat import OpenAIChat as OpenAIChat
    from claw.providers.quirks import Quirks as Quirks
    from claw.providers.scripted import ScriptedProvider as ScriptedProvider
    from claw.providers.scripted import text_turn as text_turn
    from claw.providers.scripted import tool_turn as tool_turn

HOMES = {
    "AnthropicMessages": "claw.providers.anthropic",
    "Choice": "claw.providers.fallback",
    "FallbackProvider": "claw.providers.fallback",
    "OpenAIChat": "claw.providers.openai_chat",
    "Quirks": "claw.providers.quirks",
    "ScriptedProvider": "claw.providers.scripted",
    "text_turn": "claw.providers.scripted",
    "tool_turn": "claw.providers.scripted",
}

__all__ = ["ModelRequest", "Provider", "StreamingProvider", *HOMES]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)
