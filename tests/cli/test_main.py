"""The command's face: help, version, config."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.command import Shell

KEY = "sk-very-secret-0123456789"


def test_help_names_the_commands_and_options(shell: Shell) -> None:
    done = shell.claw("--help")
    assert done.code == 0
    for word in ("run", "demo", "config", "--provider", "--approve", "--cwd", "--version"):
        assert word in done.out
    assert "--output" in shell.claw("run", "--help").out


def test_help_imports_little(shell: Shell) -> None:
    """The time that `--help` takes is that of click."""
    code = (
        "import sys; from claw.cli.main import cli\n"
        "try: cli(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=shell.environ(), capture_output=True, check=True
    )
    loaded = set(done.stderr.decode().split())
    heavy = {"requests", "rich", "prompt_toolkit", "jsonschema", "tomllib", "claw.cli.run"}
    assert loaded & heavy == set()


def test_an_output_that_is_full_is_told_in_one_line(shell: Shell) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "claw", "--help"],
            env=shell.environ(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


def test_the_version(shell: Shell) -> None:
    done = shell.claw("--version")
    assert done.code == 0
    assert done.out.startswith("claw 0.")


@pytest.mark.parametrize("arguments", [("--output", "yaml"), ("a", "b"), ("--max-steps", "0")])
def test_usage_errors_are_exit_2_without_an_envelope(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    done = shell.claw("run", "--output", "json", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Usage: claw run" in done.err


def test_options_before_the_command_count_too(shell: Shell) -> None:
    (shell.folder / "inner").mkdir()
    done = shell.claw("--provider", "ollama", "--model", "a", "-C", "inner", "config", "show")
    assert "ollama" in done.out
    assert str(shell.folder / "inner") in done.out


def test_config_path(shell: Shell) -> None:
    assert shell.claw("config", "path").out == f"{shell.config}\n"


def test_config_show_tells_values_and_sources_but_no_key(shell: Shell) -> None:
    shell.config.write_text('provider = "openai"\nkey_command = "echo printed-key"\n')
    done = shell.claw("config", "show", CLAW_MODEL="big", OPENAI_API_KEY=KEY)
    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines()}
    assert "openai" in rows["provider"]
    assert "config.toml" in rows["provider"]
    assert "big" in rows["model"]
    assert "CLAW_MODEL" in rows["model"]
    assert "https://api.openai.com/v1" in rows["base_url"]
    assert "set (OPENAI_API_KEY)" in rows["key"]
    assert KEY not in done.out + done.err
    assert "printed-key" not in done.out


def test_config_show_with_nothing_set(shell: Shell) -> None:
    done = shell.claw("config", "show")
    assert done.code == 0
    assert "not set" in done.out


def test_config_show_runs_no_key_command(shell: Shell) -> None:
    shell.config.write_text(
        f'base_url = "http://127.0.0.1:1"\nkey_command = "touch {shell.home}/ran"\n'
    )
    assert "from key_command" in shell.claw("config", "show").out
    assert not (shell.home / "ran").exists()


def test_looking_creates_nothing(shell: Shell) -> None:
    home = shell.home / "unmade"
    shell.claw("config", "show", CLAW_HOME=str(home))
    shell.claw("run", "Hi", CLAW_HOME=str(home))
    assert not home.exists()


def test_without_claw_home_the_platforms_places_are_used(shell: Shell) -> None:
    given = {"CLAW_HOME": "", "XDG_CONFIG_HOME": "/etc/somewhere", "XDG_STATE_HOME": "/var/there"}
    out = shell.claw("config", "show", **given).out
    if sys.platform == "linux":
        assert "/etc/somewhere/claw/config.toml" in out
        assert "/var/there/claw" in out


def test_the_prompt_needs_a_terminal(shell: Shell) -> None:
    done = shell.claw("--base-url", "http://127.0.0.1:1", "--model", "m")
    assert (done.code, "claw run" in done.err) == (2, True)
