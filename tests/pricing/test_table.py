"""The price table: whole, sane, and silent about what it doesn't know."""

from __future__ import annotations

import pytest

from claw.pricing import table
from claw.pricing.price import Price
from claw.providers.presets import PRESETS

ROWS = [
    (maker, model, price)
    for maker, prices in table.TABLE.items()
    for model, price in prices.items()
]


@pytest.mark.parametrize(("maker", "model", "price"), ROWS, ids=[row[1] for row in ROWS])
def test_every_row_is_sane(maker: str, model: str, price: Price) -> None:
    assert maker in PRESETS
    for each in (price, price.above[1] if price.above else price):
        assert 0 < each.input <= 20
        assert each.input < each.output <= 100
        assert each.cached is None or 0 < each.cached <= each.input / 2
        assert each.cache_write is None or each.cache_write == pytest.approx(each.input * 1.25)
    assert price.above is None or price.above[1].input > price.input
    assert (maker == "anthropic") == (price.cache_write is not None)


def test_the_table_says_when_and_where() -> None:
    assert table.AS_OF == "2026-11"
    assert table.__doc__ is not None
    for maker in table.TABLE:
        assert maker in table.__doc__


@pytest.mark.parametrize(
    ("maker", "model", "found"),
    [
        ("openai", "gpt-4o", Price(2.5, 10, 1.25)),
        ("openai", "gpt-4o-2024-08-06", Price(2.5, 10, 1.25)),
        ("openai", "gpt-4o-2024-05-13", Price(5, 15)),  # the one that costs something else
        ("openai", "gpt-4o-mini-2024-07-18", Price(0.15, 0.6, 0.075)),
        ("anthropic", "claude-haiku-4-5-20251001", Price(1, 5, 0.1, 1.25)),
        ("openai", "gpt-4o-audio-preview", None),
        ("openai", "gpt-4o-latest", None),
        ("openai", "claude-haiku-4-5", None),
        ("groq", "gpt-oss-120b", None),
        ("deepseek", "deepseek-chat", None),
        ("generic", "gpt-4o", None),
        ("openai", "", None),
    ],
)
def test_a_price_is_found_by_maker_and_model(maker: str, model: str, found: Price | None) -> None:
    assert table.listed_price(maker, model) == found
