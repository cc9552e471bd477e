"""From a server's settings to the provider that asks it, fallbacks included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from claw import providers
from claw.cancel import CancelToken
from claw.cli.keys import fetch_key
from claw.cli.servers import Server
from claw.providers.effort import effort_params
from claw.providers.fallback import Choice, FallbackProvider
from claw.providers.http_provider import HTTPProvider


def provider_for(server: Server, key: str | None, effort: str) -> HTTPProvider:
    """Asks the model of one server, which gets `key`. effort: "" leaves it to the model."""
    preset = server.preset
    # By attribute: a dialect that isn't spoken isn't imported.
    speaks = providers.AnthropicMessages if preset.dialect == "anthropic" else providers.OpenAIChat
    return speaks(
        server.model,
        base_url=server.base_url,
        api_key=key,
        params=effort_params(effort, preset.quirks.effort, preset.dialect),
        quirks=preset.quirks,
    )


def fallback_choices(
    servers: Sequence[Server], environ: Mapping[str, str], effort: str, cancel: CancelToken
) -> tuple[Choice, ...]:
    """The fallbacks, ready to be asked, each with its own key. ConfigError where one is missing."""
    return tuple(
        Choice(
            server.name,
            provider_for(
                server, fetch_key(server.key, environ, server.preset.name, cancel), effort
            ),
        )
        for server in servers
    )


def with_fallbacks(
    server: Server, provider: HTTPProvider, fallbacks: Sequence[Choice]
) -> HTTPProvider | FallbackProvider:
    """The provider of the chosen server, and behind it the fallbacks if there are any."""
    if not fallbacks:
        return provider
    return FallbackProvider(Choice(server.name, provider), *fallbacks)
