"""config.toml is read strictly, and says in one line where it is wrong."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from claw.cli.config import read_config
from claw.errors import ConfigError
from claw.providers.presets import PRESETS
from claw.providers.quirks import Quirks


def written(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text)
    return file


def test_a_config_that_is_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(ConfigError, match="no plain file"):
        read_config(tmp_path / "config.toml")


def test_no_file_is_an_empty_configuration(tmp_path: Path) -> None:
    config = read_config(tmp_path / "config.toml")
    assert not config.exists
    assert (config.provider, config.tools, config.presets) == ("", (), {})


def test_every_setting_is_read(tmp_path: Path) -> None:
    config = read_config(
        written(
            tmp_path,
            """
            provider = "gateway"
            model = "big"
            base_url = "http://127.0.0.1:1/v1"
            key_command = "pass show gateway"
            effort = "low"
            fallback = ["deepseek:deepseek-chat"]
            tools = ["mine:weather"]
            [approvals]
            mode = "all"
            [limits]
            max_steps = 7
            timeout = 2.5
            [presets.gateway]
            base_url = "https://gateway.test/v1"
            key_variable = "GATEWAY_KEY"
            dialect = "anthropic"
            quirks = { think_tags = true, effort = "adaptive" }
            """,
        )
    )
    assert (config.provider, config.model) == ("gateway", "big")
    assert config.base_url == "http://127.0.0.1:1/v1"
    assert config.key_command == "pass show gateway"
    assert config.tools == ("mine:weather",)
    assert (config.effort, config.fallback) == ("low", ("deepseek:deepseek-chat",))
    assert (config.approve, config.max_steps, config.timeout) == ("all", 7, 2.5)
    gateway = config.presets["gateway"]
    assert gateway.preset.base_url == "https://gateway.test/v1"
    assert gateway.preset.key_variable == "GATEWAY_KEY"
    assert gateway.preset.dialect == "anthropic"
    assert gateway.preset.quirks == Quirks(think_tags=True, effort="adaptive")
    assert gateway.own_url
    assert config.warnings == ()


def test_a_table_of_a_known_preset_changes_what_it_names(tmp_path: Path) -> None:
    config = read_config(
        written(
            tmp_path,
            """
            [presets.deepseek]
            key_command = "pass show deepseek"
            [presets.deepseek.quirks]
            tools = false
            [presets.mistral]
            base_url = "https://mistral.test/v1"
            [presets.vllm]
            base_url = "https://vllm.test"
            dialect = "anthropic"
            """,
        )
    )
    deepseek, mistral = config.presets["deepseek"], config.presets["mistral"]
    assert config.presets["vllm"].preset.quirks == Quirks()  # those were of another dialect
    known = PRESETS["deepseek"]
    assert deepseek.preset == replace(known, quirks=replace(known.quirks, tools=False))
    assert (deepseek.key_command, deepseek.own_url) == ("pass show deepseek", False)
    assert mistral.preset.quirks == PRESETS["mistral"].quirks
    assert (mistral.preset.key_variable, mistral.own_url) == ("", True)


@pytest.mark.parametrize(
    ("text", "named", "near"),
    [
        ('modle = "x"', "modle", "model"),
        ("[limits]\nmax_step = 3", "limits.max_step", "max_steps"),
        ('[presets.x]\nbase_ulr = "u"', "presets.x.base_ulr", "base_url"),
        ("[presets.x.quirks]\nthink_tag = true", "presets.x.quirks.think_tag", "think_tags"),
    ],
)
def test_an_unknown_name_is_a_warning_with_the_nearest_one(
    tmp_path: Path, text: str, named: str, near: str
) -> None:
    [warning] = read_config(written(tmp_path, text)).warnings
    assert named in warning
    assert f'did you mean "{near}"?' in warning


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model = 3", "model must be a text"),
        ('tools = "x:y"', "tools must be a list"),
        ("tools = [1]", "tools must be a list"),
        ("[limits]\nmax_steps = 0", "limits.max_steps must be a whole number over 0"),
        ("[limits]\nmax_steps = true", "limits.max_steps must be a whole number over 0"),
        ("[limits]\ntimeout = -1", "limits.timeout must be a number over 0"),
        ("limits = 3", "limits must be a table"),
        ("[presets]\nx = 3", "presets.x must be a table"),
        ("[presets.x]\nquirks = 3", "presets.x.quirks must be a table"),
        ("[presets.x.quirks]\ntools = 0", "presets.x.quirks.tools must be true or false"),
        ('[presets.x.quirks]\neffort = "max"', 'effort must be one of "reasoning_effort"'),
        ('[presets.x.quirks]\nmax_tokens_field = "n"', 'must be one of "max_tokens", "max_compl'),
        ('[presets.x]\ndialect = "openay"', 'dialect must be one of "openai", "anthropic"'),
        ('effort = "huge"', 'effort must be one of "off", "low", "medium", "high"'),
        ('fallback = "a:b"', "fallback must be a list"),
        ('model = "x"\nmodel 3', "line 2"),
    ],
)
def test_a_wrong_value_is_one_line_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_config(file)
    assert words in caught.value.message
    assert str(file) in caught.value.message
    assert "\n" not in caught.value.message


def test_a_folder_in_its_place_and_foreign_bytes_are_config_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        read_config(tmp_path)
    binary = tmp_path / "config.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="TOML"):
        read_config(binary)


def test_a_file_over_a_megabyte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="over 1000 kB"):
        read_config(written(tmp_path, "#" * 1_000_001))


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b'\xef\xbb\xbfmodel = "m"\r\n')
    assert read_config(tmp_path / "config.toml").model == "m"
