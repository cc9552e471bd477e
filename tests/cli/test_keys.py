"""A key goes where it belongs, and is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from claw.cancel import CancelToken
from claw.cli.config import PresetTable, UserConfig
from claw.cli.keys import KeySource, fetch_key
from claw.cli.settings import Flags, resolve
from claw.errors import Cancelled, ConfigError
from claw.providers.presets import PRESETS, Preset

URL = "http://other.test/v1"
KEYS = {"CLAW_API_KEY": "general", "OPENAI_API_KEY": "openais", "MINE_KEY": "mine"}
OPENAIS = {"OPENAI_API_KEY": "openais"}
OWN = PresetTable(Preset("mine", URL, "MINE_KEY"), own_url=True)
MOVED = PresetTable(Preset("openai", URL), own_url=True)
COMMANDED = PresetTable(Preset("openai", "https://x.test/v1", "OPENAI_API_KEY"), "echo printed")


def key_for(flags: Flags, environ: dict[str, str], **config: object) -> str | None:
    found = resolve(flags, environ, UserConfig(Path("config.toml"), **config))  # type: ignore[arg-type]
    return fetch_key(found.key, environ, found.preset.name, CancelToken())


@pytest.mark.parametrize(
    ("flags", "environ", "config", "key"),
    [
        # the maker's own URL, or where the maker's variable moved it
        (Flags(provider="openai"), OPENAIS, {}, "openais"),
        (Flags(provider="openai"), KEYS, {}, "general"),
        (Flags(), KEYS, {}, "openais"),
        (Flags(provider="openai"), {**OPENAIS, "OPENAI_BASE_URL": URL}, {}, "openais"),
        (Flags(), {"OPENAI_BASE_URL": URL}, {}, None),
        (Flags(provider="ollama"), OPENAIS, {}, None),
        (Flags(provider="openai"), OPENAIS, {"presets": {"openai": COMMANDED}}, "openais"),
        (Flags(provider="openai"), {}, {"presets": {"openai": COMMANDED}}, "printed"),
        # another URL never gets a maker's key
        (Flags(base_url=URL), OPENAIS, {}, None),
        (Flags(base_url=URL), KEYS, {}, "general"),
        (Flags(base_url=URL, provider="openai"), OPENAIS, {}, None),
        (Flags(provider="openai"), {**OPENAIS, "CLAW_BASE_URL": URL}, {}, None),
        (Flags(provider="openai"), {**KEYS, "CLAW_BASE_URL": URL}, {}, "general"),
        (Flags(provider="openai"), OPENAIS, {"base_url": URL}, None),
        # the file's key_command belongs to the file's URL
        (Flags(), OPENAIS, {"base_url": URL, "key_command": "echo printed"}, "printed"),
        (Flags(), KEYS, {"base_url": URL, "key_command": "echo printed"}, "general"),
        (Flags(base_url=URL), {}, {"base_url": "http://a.test", "key_command": "echo x"}, None),
        (Flags(), {"CLAW_BASE_URL": URL}, {"key_command": "echo printed"}, None),
        (Flags(provider="openai"), OPENAIS, {"key_command": "echo printed"}, "openais"),
        # a preset of the user's: its own variable or command alone
        (Flags(provider="mine"), KEYS, {"presets": {"mine": OWN}}, "mine"),
        (Flags(provider="openai"), KEYS, {"presets": {"openai": MOVED}}, None),
    ],
)
def test_which_key_goes_where(
    flags: Flags, environ: dict[str, str], config: dict[str, object], key: str | None
) -> None:
    assert key_for(flags, environ, **config) == key


@pytest.mark.parametrize(
    ("environ", "config", "key"),
    [
        ({"DEEPSEEK_API_KEY": "deepseeks", "CLAW_API_KEY": "general"}, {}, "deepseeks"),
        (
            {"DEEPSEEK_API_KEY": "deepseeks", "CLAW_API_KEY": "general", "CLAW_BASE_URL": URL},
            {"base_url": URL, "key_command": "echo printed"},
            "deepseeks",
        ),
        (
            {"CLAW_API_KEY": "general", "OPENAI_API_KEY": "openais"},
            {"presets": {"deepseek": PresetTable(Preset("deepseek", URL), own_url=True)}},
            None,
        ),
        (
            {"CLAW_API_KEY": "general"},
            {"presets": {"deepseek": PresetTable(PRESETS["deepseek"], "echo printed")}},
            "printed",
        ),
    ],
)
def test_a_fallback_has_the_key_of_its_preset_alone(
    environ: dict[str, str], config: dict[str, object], key: str | None
) -> None:
    flags = Flags(provider="ollama", fallback=("deepseek:m",))
    found = resolve(flags, environ, UserConfig(Path("config.toml"), **config))  # type: ignore[arg-type]
    (fallback,) = found.fallbacks
    assert fetch_key(fallback.key, environ, "deepseek", CancelToken()) == key


def test_a_fallback_without_its_key_is_told_at_once() -> None:
    found = resolve(
        Flags(provider="ollama", fallback=("deepseek:m",)),
        {"CLAW_API_KEY": "general"},
        UserConfig(Path("config.toml")),
    )
    with pytest.raises(ConfigError, match="no key for deepseek: set DEEPSEEK_API_KEY in"):
        fetch_key(found.fallbacks[0].key, {"CLAW_API_KEY": "x"}, "deepseek", CancelToken())


def test_a_missing_key_says_which_variable() -> None:
    with pytest.raises(ConfigError, match="no key for openai: set OPENAI_API_KEY or CLAW_API_KEY"):
        key_for(Flags(provider="openai"), {})
    with pytest.raises(ConfigError, match="no key for mine: set MINE_KEY in"):
        key_for(Flags(provider="mine"), {"CLAW_API_KEY": "x"}, presets={"mine": OWN})


@pytest.mark.parametrize(
    "key", ["sk-secret\n", "sk-secret\r\nHost: evil", "sk secret", "sk-sécret"]
)
def test_a_key_that_no_header_can_carry(key: str) -> None:
    with pytest.raises(ConfigError, match=r"^OPENAI_API_KEY: ") as caught:
        key_for(Flags(provider="openai"), {"OPENAI_API_KEY": key})
    assert "cret" not in caught.value.message


@pytest.mark.parametrize(
    ("command", "words"),
    [("exit 3", "exit code 3"), ("true", "printed nothing"), ("echo a; echo b", "line break")],
)
def test_a_key_command_that_fails(command: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        fetch_key(KeySource(command=command), {}, "x", CancelToken())


def test_a_key_command_ends_with_the_token() -> None:
    token = CancelToken(timeout=0.1)
    with pytest.raises(Cancelled):
        fetch_key(KeySource(command="exec sleep 20"), {}, "x", token)
