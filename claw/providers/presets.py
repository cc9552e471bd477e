"""Presets: what claw knows of the servers it can name, as data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from claw.providers.quirks import NO_QUIRKS, Quirks
from claw.values import frozen

Dialect: TypeAlias = Literal["openai", "anthropic"]
"""What a server speaks: Chat Completions or Messages."""


@frozen
class Preset:
    """A server by name.

    base_url: as the dialect wants it, "/v1" included; "" where the user must give one.
    key_variable: the environment variable with this maker's key; "" where none is needed.
    url_variable: the environment variable that moves this maker's URL, if there is one.
    local: runs on the user's own machine, so it is looked for there.
    dialect: which provider class speaks to it.
    quirks: what it wants otherwise than the dialect says.
    context_window: tokens that its models take; 0 where that depends on the model (windows.py).
    """

    name: str
    base_url: str
    key_variable: str = ""
    url_variable: str = ""
    local: bool = False
    dialect: Dialect = "openai"
    quirks: Quirks = NO_QUIRKS
    context_window: int = 0


GENERIC = Preset("generic", "")
"""Any server that speaks the OpenAI dialect, at a URL that the user gives."""

_ALL = (
    Preset(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        quirks=Quirks(max_tokens_field="max_completion_tokens"),
    ),
    Preset(
        "anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        dialect="anthropic",
    ),
    Preset(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        quirks=Quirks(echo_extras=True, effort="reasoning"),
    ),
    Preset(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        quirks=Quirks(echo_extras=True, reasoning_field="reasoning_content", effort="thinking"),
    ),
    Preset(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        quirks=Quirks(echo_extras=True),
    ),
    Preset(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        quirks=Quirks(assistant_after_tools=True, effort="high_or_none"),
    ),
    Preset("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Preset("ollama", "http://127.0.0.1:11434/v1", local=True),
    Preset("lmstudio", "http://127.0.0.1:1234/v1", local=True),
    Preset(
        "llamacpp",
        "http://127.0.0.1:8080/v1",
        local=True,
        quirks=Quirks(calls_in_text=True, effort="chat_template"),
    ),
    Preset("vllm", "http://127.0.0.1:8000/v1", local=True, quirks=Quirks(effort="chat_template")),
    GENERIC,
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})
"""By name, in the order in which they are looked for."""

KEY_VARIABLES: frozenset[str] = frozenset(
    {"CLAW_API_KEY"} | {p.key_variable for p in _ALL if p.key_variable}
)
"""Every environment variable that may hold a model server's key: no tool gets to see them."""
