"""The command's face: help, version, config."""

from __future__ import annotations

import subprocess
import sys

import pytest

from claw.cli.main import cli, flags_of
from tests.support.command import Shell

KEY = "sk-very-secret-0123456789"


def test_help_names_the_commands_and_options(shell: Shell) -> None:
    done = shell.claw("--help")
    assert done.code == 0
    for word in ("run", "demo", "config", "--provider", "--approve", "--cwd", "--version"):
        assert word in done.out
    assert "--output" in shell.claw("run", "--help").out


@pytest.mark.parametrize(
    ("above", "own", "net"),
    [
        ([], [], None),
        (["--net"], [], True),
        ([], ["--no-net"], False),
        (["--net"], ["--no-net"], False),
        (["--no-net"], ["--net"], True),
    ],
)
def test_an_option_of_the_command_wins_over_that_of_claw_also_to_say_no(
    above: list[str], own: list[str], net: bool | None
) -> None:
    parent = cli.make_context("claw", ["--quiet", *above, "run"])
    context = cli.commands["run"].make_context("run", [*own, "Go"], parent=parent)
    flags = flags_of(context)
    assert (flags.net, flags.quiet) == (net, True)


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


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("config", "show"),
        ("config", "path"),
        ("doctor",),
        ("doctor", "--json"),
        ("models", "--json", "--base-url", "http://127.0.0.1:9/v1"),
        ("demo",),
    ],
)
def test_an_output_that_is_full_is_told_in_one_line(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "claw", *arguments],
            env=shell.environ(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    words = "claw: standard output can't be written: No space left on device\n"
    assert done.stderr == words


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


def test_config_show_without_a_server_shows_the_rest(shell: Shell) -> None:
    shell.config.write_text(
        'model = "big"\ntools = ["mine:f"]\nfallback = ["deepseek:d"]\n'
        f'[sandbox]\nadd_dirs = ["{shell.home}"]\n[limits]\ntimeout = 7\n'
    )
    done = shell.claw("config", "show")
    rows = {line.split()[0]: line for line in done.out.splitlines()}
    assert done.code == 0, done
    for name, value in (
        ("provider", "not set"),
        ("model", "big"),
        ("tool", "mine:f"),
        ("fallback", "deepseek:d"),
        ("add_dir", str(shell.home)),
        ("timeout", "7 s"),
    ):
        assert value in rows[name]


@pytest.mark.parametrize("server", ["", 'base_url = "http://127.0.0.1:9/v1"\n'])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits]\ntimeout = inf", "the timeout can be"),
        ('[sandbox]\nadd_dirs = ["missing"]', "no such folder"),
        ('[sandbox]\nadd_dirs = ["a\\u0000b"]', "NUL"),
        ('tools = ["mine"]', "must be written"),
        ('fallback = ["deepsek:d"]', "no provider is named"),
        ('[approvals]\nallow = [""]', "rule"),
    ],
)
def test_config_show_checks_with_and_without_a_server(
    shell: Shell, server: str, text: str, words: str
) -> None:
    shell.config.write_text(server + text)
    done = shell.claw("config", "show")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert words in done.err


def test_no_row_shows_a_key_that_stands_in_another_setting(shell: Shell) -> None:
    shell.config.write_text(
        f'base_url = "http://127.0.0.1:9/{KEY}/v1"\nmodel = "{KEY}"\ntools = ["mine:{KEY}"]\n'
        f'[approvals]\nallow = ["curl {KEY}"]\n'
    )
    done = shell.claw("config", "show", OPENAI_API_KEY=KEY)
    assert done.code == 0, done
    assert "http://127.0.0.1:9/[key]/v1" in done.out
    seen = [done, shell.claw("doctor", OPENAI_API_KEY=KEY)]
    seen += [shell.claw("models", *more, OPENAI_API_KEY=KEY) for more in ([], ["--json"])]
    shell.config.write_text(f'base_url = "ftp://h/{KEY}"\n')
    seen.append(shell.claw("config", "show", OPENAI_API_KEY=KEY))
    for each in seen:
        assert KEY not in each.out + each.err


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
