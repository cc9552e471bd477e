"""A budget as it is written on the command line and in config.toml."""

from __future__ import annotations

import pytest

from claw.errors import ConfigError
from claw.pricing import Budget, parse_budget


@pytest.mark.parametrize(
    ("words", "budget"),
    [
        ("50000", Budget(tokens=50_000)),
        ("50k", Budget(tokens=50_000)),
        ("50K", Budget(tokens=50_000)),
        (" 1.5m ", Budget(tokens=1_500_000)),
        ("0.5k", Budget(tokens=500)),
        ("1.001k", Budget(tokens=1_001)),
        ("1", Budget(tokens=1)),
        ("0.50usd", Budget(usd=0.5)),
        ("0.50 USD", Budget(usd=0.5)),
        ("2usd", Budget(usd=2)),
        (".5usd", Budget(usd=0.5)),
        ("$0.50", Budget(usd=0.5)),
        ("$12", Budget(usd=12)),
    ],
)
def test_what_can_be_written(words: str, budget: Budget) -> None:
    assert parse_budget(words, "--budget") == budget


@pytest.mark.parametrize(
    "words",
    [
        "", "lots", "50q", "-5", "0", "0k", "0usd", "$0", "$", "usd", "1.5", "1.2345k", "1e6", "k",
        "$5k", "50kusd", "5eur", "$1usd", "nan", "inf", "١٢", "1_000", "1,000", "5 0", "9" * 400,
        "$" + "9" * 400,
    ],
)  # fmt: skip
def test_what_can_not(words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_budget(words, "--budget")
    line = caught.value.message
    assert line.startswith('--budget: "')
    assert "50k" in line
    assert "0.50usd" in line
    assert "\n" not in line
    assert len(line) < 160


def test_a_budget_is_one_thing_over_nothing() -> None:
    for values in ({}, {"tokens": 1, "usd": 1.0}, {"tokens": 0}, {"usd": -1.0}):
        with pytest.raises(ConfigError):
            Budget(**values)  # type: ignore[arg-type]


def test_how_a_budget_is_told() -> None:
    told = [str(each) for each in (Budget(tokens=50_000), Budget(usd=0.5), Budget(usd=0.0051))]
    assert told == ["50,000 tokens", "$0.50", "$0.0051"]
