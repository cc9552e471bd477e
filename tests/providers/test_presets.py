"""The presets as data: names, addresses, keys."""

from __future__ import annotations

import pickle
from urllib.parse import urlsplit

import pytest

from claw.providers.endpoint import checked_base_url
from claw.providers.presets import GENERIC, KEY_VARIABLES, PRESETS, Preset

NAMED = [preset for preset in PRESETS.values() if preset is not GENERIC]


def test_the_names() -> None:
    assert list(PRESETS) == [
        "openai",
        "anthropic",
        "openrouter",
        "deepseek",
        "gemini",
        "mistral",
        "groq",
        "ollama",
        "lmstudio",
        "llamacpp",
        "vllm",
        "generic",
    ]


@pytest.mark.parametrize("preset", NAMED, ids=lambda preset: preset.name)
def test_an_address_is_as_the_provider_wants_it(preset: Preset) -> None:
    assert checked_base_url(preset.base_url) == preset.base_url


@pytest.mark.parametrize("preset", NAMED, ids=lambda preset: preset.name)
def test_a_maker_has_a_key_and_tls_and_a_local_server_neither(preset: Preset) -> None:
    parts = urlsplit(preset.base_url)
    if preset.local:
        assert (parts.hostname, preset.key_variable) == ("127.0.0.1", "")
    else:
        assert parts.scheme == "https"
        assert preset.key_variable.endswith("_API_KEY")


def test_every_key_variable_is_known_as_one() -> None:
    assert {preset.key_variable for preset in NAMED if not preset.local} < KEY_VARIABLES
    assert {"CLAW_API_KEY", "ANTHROPIC_API_KEY"} < KEY_VARIABLES
    assert "" not in KEY_VARIABLES


def test_presets_are_values() -> None:
    for preset in PRESETS.values():
        assert pickle.loads(pickle.dumps(preset)) == preset
