"""Flags over environment over config.toml over preset."""

from __future__ import annotations

from pathlib import Path

import pytest

from claw.cli.config import PresetTable, UserConfig
from claw.cli.settings import Flags, NothingSet, Settings, need_model, resolve
from claw.errors import ConfigError
from claw.providers.presets import Preset

NOWHERE = Path("/nowhere/config.toml")


def settings(
    flags: Flags | None = None, environ: dict[str, str] | None = None, **config: object
) -> Settings:
    return resolve(flags or Flags(), environ or {}, UserConfig(NOWHERE, **config))  # type: ignore[arg-type]


def test_flags_win_over_environment_over_file() -> None:
    variables = {"CLAW_MODEL": "from-env", "CLAW_PROVIDER": "groq"}
    by_flag = settings(Flags(model="from-flag", provider="ollama"), variables, model="from-file")
    assert (by_flag.model, by_flag.preset.name) == ("from-flag", "ollama")
    by_variable = settings(None, variables, model="from-file", provider="mistral")
    assert (by_variable.model, by_variable.preset.name) == ("from-env", "groq")
    by_file = settings(None, {}, model="from-file", provider="mistral")
    assert (by_file.model, by_file.preset.name) == ("from-file", "mistral")
    assert by_file.base_url == "https://api.mistral.ai/v1"


@pytest.mark.parametrize(
    ("flag", "in_file", "net"), [(None, True, True), (False, True, False), (True, False, True)]
)
def test_the_network_can_be_taken_back(flag: bool | None, in_file: bool, net: bool) -> None:
    assert settings(Flags(provider="ollama", net=flag), net=in_file).net is net


def test_each_setting_knows_where_it_came_from() -> None:
    found = settings(Flags(model="m"), {"CLAW_BASE_URL": "http://h/v1"}, provider="vllm")
    assert found.sources == {
        "provider": "config.toml",
        "model": "--model",
        "base_url": "CLAW_BASE_URL",
    }


def test_a_url_alone_is_the_generic_provider() -> None:
    found = settings(Flags(base_url="http://h:1/v1/"))
    assert (found.preset.name, found.base_url) == ("generic", "http://h:1/v1")


def test_a_makers_variable_alone_chooses_the_maker() -> None:
    assert settings(None, {"OPENAI_API_KEY": "k"}).preset.name == "openai"
    assert settings(None, {"DEEPSEEK_API_KEY": "k"}).preset.name == "deepseek"
    moved = settings(None, {"OPENAI_BASE_URL": "http://h/v1"})
    assert (moved.preset.name, moved.base_url) == ("openai", "http://h/v1")


def test_nothing_set_is_told_apart() -> None:
    with pytest.raises(NothingSet):
        settings()
    with pytest.raises(NothingSet):
        settings(None, {"CLAW_API_KEY": "whose?"}, model="m")


def test_a_preset_of_the_user() -> None:
    table = PresetTable(Preset("mine", "http://h/v1"), own_url=True)
    assert settings(Flags(provider="mine"), presets={"mine": table}).base_url == "http://h/v1"
    empty = PresetTable(Preset("mine", ""), own_url=True)
    with pytest.raises(ConfigError, match="needs a base_url"):
        settings(Flags(provider="mine"), presets={"mine": empty})


def test_the_generic_provider_needs_a_url() -> None:
    with pytest.raises(ConfigError, match="--base-url"):
        settings(Flags(provider="generic"))


@pytest.mark.parametrize(
    ("name", "near"), [("opnai", "openai"), ("olama", "ollama"), ("deep-seek", "deepseek")]
)
def test_an_unknown_provider_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(ConfigError, match=f'"{near}"'):
        settings(Flags(provider=name))


def test_a_provider_like_no_other_names_all() -> None:
    with pytest.raises(ConfigError, match=r"known: openai, .*, generic"):
        settings(Flags(provider="xyzzy"))


@pytest.mark.parametrize(
    "url",
    [
        "api.test/v1",
        "ftp://h/v1",
        "http://",
        "http://h:port/v1",
        "http://user:secret@h/v1",
        "http://h/v1?x=1",
    ],
)
def test_a_bad_url_is_named_with_its_source(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^CLAW_BASE_URL: ") as caught:
        settings(None, {"CLAW_BASE_URL": url})
    assert "secret" not in caught.value.message


def test_no_model_says_how_to_set_one() -> None:
    with pytest.raises(ConfigError, match="--model NAME, set CLAW_MODEL"):
        need_model(settings(None, {"OPENAI_API_KEY": "k"}))


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ConfigError, match="this is a file"):
        settings(Flags(provider="vllm", cwd=str(file)))
    with pytest.raises(ConfigError, match="no such folder"):
        settings(Flags(provider="vllm", cwd=str(tmp_path / "missing")))


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e12])
def test_a_time_limit_that_no_clock_can_hold(seconds: float) -> None:
    with pytest.raises(ConfigError, match="seconds at most"):
        settings(Flags(provider="vllm", timeout=seconds))


def test_rules_are_words_and_a_line_that_is_more_is_refused() -> None:
    found = settings(Flags(provider="vllm"), allow=("git  status", "pytest -k 'a b'"))
    assert found.allow == (("git", "status"), ("pytest", "-k", "a b"))
    with pytest.raises(ConfigError, match="a rule is the plain words"):
        settings(Flags(provider="vllm"), deny=("rm; ls",))


def test_the_effort_of_the_command_line_wins() -> None:
    assert settings(Flags(provider="vllm", effort="low"), effort="high").effort == "low"
    assert settings(Flags(provider="vllm"), effort="high").effort == "high"
    assert settings(Flags(provider="vllm")).effort == ""


def test_the_demo_is_no_provider_but_a_command() -> None:
    with pytest.raises(ConfigError, match=r"--provider: .*run `claw demo`"):
        settings(Flags(provider="demo", model="m"))
    with pytest.raises(ConfigError, match=r"--fallback: .*run `claw demo`"):
        settings(Flags(provider="vllm", fallback=("demo:m",)))


def test_fallbacks_are_those_of_the_command_line_or_of_the_file() -> None:
    of_file = settings(Flags(provider="vllm"), fallback=("ollama:qwen3:8b", "groq:x"))
    assert [each.name for each in of_file.fallbacks] == ["ollama:qwen3:8b", "groq:x"]
    assert of_file.fallbacks[0].model == "qwen3:8b"
    of_flags = settings(Flags(provider="vllm", fallback=("mistral:y",)), fallback=("groq:x",))
    assert [each.base_url for each in of_flags.fallbacks] == ["https://api.mistral.ai/v1"]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ("deepseek", "isn't PRESET:MODEL"),
        ("deepseek:", "isn't PRESET:MODEL"),
        (":m", "isn't PRESET:MODEL"),
        ("depseek:m", 'did you mean "deepseek"'),
        ("generic:m", "has no URL"),
    ],
)
def test_a_fallback_that_cannot_be_one(wish: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        settings(Flags(provider="vllm", fallback=(wish,)))
    assert caught.value.message.startswith("--fallback: ")
