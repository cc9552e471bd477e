"""--budget and the prices, as the user meets them: the command, config.toml, and what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from claw.cli.config import read_config
from claw.cli.settings import Flags, Settings, resolve
from claw.cli.usage_words import totals_words, usage_words
from claw.errors import ConfigError
from claw.events import RunResult, RunStatus
from claw.messages import Usage
from claw.pricing import Budget, Price
from claw.results import Totals
from tests.support.command import Shell
from tests.support.repl import PROMPT, Start, leave
from tests.support.server import reply, serve, stream
from tests.support.wire import DONE, chunk, text

PRICES = '[prices."m.1"]\ninput = 1\ncached = 0.1\noutput = 2000\n'
SETTINGS = ("--model", "m.1", "--base-url")


def config(folder: Path, words: str) -> Path:
    file = folder / "config.toml"
    file.write_text(words)
    return file


def resolved(
    file: Path, flags: Flags | None = None, environ: dict[str, str] | None = None
) -> Settings:
    return resolve(flags or Flags(), environ or {}, read_config(file))


# --- the command --------------------------------------------------------------------------------


def test_a_run_that_is_cut_by_its_budget_ends_with_exit_code_3(shell: Shell) -> None:
    half = stream(text("Half an"), chunk({}, "length"), DONE)
    with serve(half) as server:
        arguments = ("run", "Hi", *SETTINGS, server.url, "--budget", "20k")
        done = shell.claw(*arguments)
        told = shell.claw(*arguments, "--output", "json").envelope
    assert (done.code, done.out) == (3, "Half an\n")
    assert "[stopped: the budget (--budget) is used up; `continue` brings a new one]" in done.err
    assert (told["status"], told["stop_reason"]) == ("budget", "max_tokens")
    limits = [request.body["max_tokens"] for request in server.requests]
    assert all(10_000 < limit < 20_000 for limit in limits)


def test_a_budget_too_small_for_the_prompt_sends_nothing_and_says_why(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        done = shell.claw("run", "Hi", *SETTINGS, server.url, "--budget", "500", "--quiet")
    assert (done.code, done.out, server.requests) == (3, "", [])
    assert "note: the budget has no room for the next request: 0 of 500 tokens used" in done.err


def test_what_a_turn_cost_is_told_where_the_price_is_known(shell: Shell) -> None:
    shell.config.write_text(PRICES)
    with serve(reply("Hel", "lo")) as server:
        known = shell.claw("run", "Hi", *SETTINGS, server.url)
        envelope = shell.claw("run", "Hi", *SETTINGS, server.url, "--output", "json").envelope
        other = ("--model", "other", "--base-url", server.url)
        unknown = shell.claw("run", "Hi", *other)
        nothing = shell.claw("run", "Hi", *other, "--output", "json").envelope
    assert "[1 step, 7 tokens in, 2 out, $0.0040, " in known.err
    assert envelope["cost"] == 0.004007
    assert "[1 step, 7 tokens in, 2 out, " in unknown.err
    assert "$" not in unknown.err
    assert nothing["cost"] is None


def test_money_without_a_price_is_a_configuration_error(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        done = shell.claw("run", "Hi", *SETTINGS, server.url, "--budget", "$1")
    assert (done.code, done.out, server.requests) == (2, "", [])
    assert done.err.count("\n") == 1
    assert 'needs the price of "m.1"' in done.err
    assert "[prices.MODEL]" in done.err


@pytest.mark.parametrize("word", ["lots", "50q", "-1", "0"])
def test_a_bad_budget_is_one_line(shell: Shell, word: str) -> None:
    done = shell.claw("run", "Hi", *SETTINGS, "http://127.0.0.1:9/v1", f"--budget={word}")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f'claw: --budget: "{word}" is no budget: write tokens like 50000, 50k or 1.5m, or money '
        "like 0.50usd\n"
    )


def test_config_show_tells_budget_and_price(shell: Shell) -> None:
    shell.config.write_text(PRICES + '[limits]\nbudget = "50k"\n')
    done = shell.claw("config", "show", CLAW_MODEL="m.1", CLAW_BASE_URL="http://127.0.0.1:9/v1")
    rows = {" ".join(line.split()) for line in done.out.splitlines()}
    assert {"budget 50,000 tokens", "price m.1: $1 in, $2000 out config.toml"} <= rows


def test_usage_adds_up_the_session(start: Start, home: Path) -> None:
    config(home, PRICES.replace("m.1", "scripted"))
    with start("plain", columns=120) as terminal:
        for words in ("one", "two"):
            terminal.type(f"{words}\r")
            terminal.wait_for(f"^You said {words}$")
            terminal.wait_for(r"^\[1 step, 7 tokens in, 2 out, \$0\.0040, \d+\.\d s\]$")
            terminal.wait_for(PROMPT)
        terminal.type("/usage\r")
        terminal.wait_for(r"^2 turns: 14 tokens in \(0 of them cached\), 4 out .*, \$0\.0080$")
        terminal.type("/model other\r")
        terminal.wait_for(r"^other \(")
        terminal.type("three\r")
        terminal.wait_for(r"^\[1 step, 7 tokens in, 2 out, \d+\.\d s\]$")
        terminal.wait_for(PROMPT)
        terminal.type("/usage\r")
        terminal.wait_for(r"\$0\.0080 without 1 turn of unknown cost$")
        leave(terminal)


def test_in_a_budget_of_money_only_priced_models_are_taken(start: Start, home: Path) -> None:
    config(home, PRICES.replace("m.1", "scripted") + '[limits]\nbudget = "5usd"\n')
    with start("plain") as terminal:
        terminal.type("/model other\r")
        terminal.wait_for('needs the price of "other"')
        terminal.type("one\r")
        terminal.wait_for("^You said one$")
        terminal.wait_for(PROMPT)
        leave(terminal)


# --- the settings -------------------------------------------------------------------------------


def test_the_flag_wins_over_the_file(tmp_path: Path) -> None:
    file = config(tmp_path, 'base_url = "http://h/v1"\n[limits]\nbudget = "0.50usd"\n')
    assert resolved(file).budget == Budget(usd=0.5)
    assert resolved(file, Flags(budget="50k")).budget == Budget(tokens=50_000)
    assert resolved(config(tmp_path, 'base_url = "http://h/v1"\n')).budget is None


def test_prices_are_read(tmp_path: Path) -> None:
    words = '[prices.a]\ninput = 0\noutput = 0\n[prices."b/c"]\ninput = 3\noutput = 15.5\n'
    found = read_config(config(tmp_path, words + "cached = 0.3\ncache_write = 3.75\n"))
    assert found.prices == {"a": Price(0, 0), "b/c": Price(3, 15.5, 0.3, 3.75)}
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("[prices.a]\ninput = 1\n", "prices.a needs `input` and `output`"),
        ("[prices.gpt-4.1]\ninput = 1\noutput = 2\n", 'in quotes: [prices."gpt-4.1"]'),
        ("[prices.a]\ninput = -1\noutput = 2\n", "prices.a.input must be a number, 0 or more"),
        ("[prices.a]\ninput = inf\noutput = 2\n", "prices.a.input must be a number, 0 or more"),
        ("[prices.a]\ninput = true\noutput = 2\n", "prices.a.input must be a number, 0 or more"),
        ("[prices]\na = 1\n", "prices.a must be a table"),
        ('[limits]\nbudget = "lots"\n', 'limits.budget: "lots" is no budget'),
        ("[limits]\nbudget = 5\n", "limits.budget must be a text in quotes"),
    ],
)
def test_what_is_wrong_in_the_file_is_said(tmp_path: Path, words: str, complaint: str) -> None:
    file = config(tmp_path, words)
    with pytest.raises(ConfigError) as caught:
        read_config(file)
    assert str(file) in caught.value.message
    assert complaint in caught.value.message


def price_of(file: Path, environ: dict[str, str], **flags: str) -> Price | None:
    [(_, price)] = resolved(file, Flags(**flags), environ).prices.models  # type: ignore[arg-type]
    return price


def test_a_makers_price_is_that_of_its_own_server(tmp_path: Path) -> None:
    file, key = config(tmp_path, ""), {"OPENAI_API_KEY": "k"}
    assert price_of(file, key, model="gpt-4o") == Price(2.5, 10, 1.25)
    assert price_of(file, key, model="unheard-of") is None
    moved = {**key, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert price_of(file, moved, model="gpt-4o") is None
    assert price_of(file, {}, model="gpt-4o", base_url="http://127.0.0.1:9/v1") is None
    gateway = config(tmp_path, '[presets.openai]\nbase_url = "http://127.0.0.1:9/v1"\n')
    assert price_of(gateway, {}, model="gpt-4o", provider="openai") is None


def test_the_users_own_price_wins_everywhere(tmp_path: Path) -> None:
    file = config(tmp_path, "[prices.gpt-4o]\ninput = 7\noutput = 8\n")
    assert price_of(file, {"OPENAI_API_KEY": "k"}, model="gpt-4o") == Price(7, 8)
    assert price_of(file, {}, model="gpt-4o", base_url="http://127.0.0.1:9/v1") == Price(7, 8)


def test_fallbacks_have_their_own_prices(tmp_path: Path) -> None:
    flags = Flags(provider="openai", model="gpt-4o", fallback=("groq:openai/gpt-oss-20b", "vllm:x"))
    assert resolved(config(tmp_path, ""), flags).prices.models == (
        ("gpt-4o", Price(2.5, 10, 1.25)),
        ("openai/gpt-oss-20b", Price(0.075, 0.3, 0.0375)),
        ("x", None),
    )


# --- the words ----------------------------------------------------------------------------------


def test_the_line_after_a_turn() -> None:
    def words(usage: Usage, cost: float | None) -> str:
        return usage_words(
            RunResult(RunStatus.COMPLETED, steps=2, usage=usage, cost=cost, duration_s=3.21)
        )

    assert words(Usage(1234, 56), 0.0123) == "2 steps, 1,234 tokens in, 56 out, $0.0123, 3.2 s"
    assert words(Usage(1234, 56), None) == "2 steps, 1,234 tokens in, 56 out, 3.2 s"
    assert words(Usage(), 0.0) == "2 steps, 3.2 s"


def test_the_line_for_a_session() -> None:
    none = "0 turns: 0 tokens in (0 of them cached), 0 out (0 of them reasoning)"
    assert totals_words(Totals()) == none
    totals = Totals().plus(Usage(1000, 20, 900, 5), 0.1).plus(Usage(1, 1), 0.2)
    told = "2 turns: 1,001 tokens in (900 of them cached), 21 out (5 of them reasoning), $0.3000"
    assert totals_words(totals) == told
    unpriced = totals.plus(Usage(1, 0), None).plus(Usage(), None)
    assert totals_words(unpriced).endswith("$0.3000 without 1 turn of unknown cost")
    assert "$" not in totals_words(Totals().plus(Usage(1, 1), None))
