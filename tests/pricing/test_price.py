"""What a request costs, to the last millionth of a dollar."""

from __future__ import annotations

import pytest

from claw.messages import Usage
from claw.pricing.price import DOLLAR, Price, PriceList, dollars, money_words

PLAIN = Price(3, 15)
CACHING = Price(3, 15, cached=0.3, cache_write=3.75)
TIERED = Price(1.25, 10, 0.125, above=(200_000, Price(2.5, 15, 0.25)))


@pytest.mark.parametrize(
    ("price", "usage", "usd"),
    [
        (PLAIN, Usage(), 0.0),
        (PLAIN, Usage(1_000_000, 0), 3.0),
        (PLAIN, Usage(0, 1_000_000), 15.0),
        (PLAIN, Usage(1, 0), 0.000003),
        (PLAIN, Usage(1_000, 100, cached_tokens=900), 0.0045),  # no price of its own: as input
        (CACHING, Usage(1_000, 100, cached_tokens=900), 0.00207),
        (CACHING, Usage(1_000, 0, cached_tokens=600, cache_write_tokens=300), 0.001605),
        (CACHING, Usage(1_000, 100, reasoning_tokens=80), 0.0045),  # reasoning is part of output
        (CACHING, Usage(10, 0, cached_tokens=99, cache_write_tokens=99), 0.000003),
        (TIERED, Usage(200_000, 1_000), 0.26),
        (TIERED, Usage(200_001, 1_000), 0.515003),  # 0.5150025
        (TIERED, Usage(300_000, 0, cached_tokens=200_000), 0.3),
        (Price(0.1, 0.2), Usage(1, 1), 0.0),  # 0.0000003
        (Price(0, 0), Usage(10**9, 10**9), 0.0),
    ],
)
def test_the_cost_of_a_request(price: Price, usage: Usage, usd: float) -> None:
    assert dollars(price.cost(usage)) == pytest.approx(usd, abs=1e-6)
    assert repr(dollars(price.cost(usage))) == repr(round(price.cost(usage) / DOLLAR, 6))


def test_many_small_sums_leave_no_dust() -> None:
    tenth = Price(0.1, 0.3)
    total = sum(tenth.cost(Usage(1_000, 1_000)) for _ in range(3_000))
    assert dollars(total) == 1.2
    assert dollars(sum(Price(0.0375, 0.3).cost(Usage(1, 0)) for _ in range(10**5))) == 0.00375


@pytest.mark.parametrize(
    ("price", "usd", "prompt", "tokens"),
    [
        (PLAIN, 0.015, 0, 1_000),
        (PLAIN, 0.018, 1_000, 1_000),
        (CACHING, 0.01875, 1_000, 1_000),  # the whole prompt may have to be written to the cache
        (PLAIN, 0.001, 1_000, 0),
        (TIERED, 1, 200_000, 75_000),
        (TIERED, 1, 200_001, 33_333),
        (Price(1, 0), 0.5, 1_000, None),
        (Price(1, 0), 0.0005, 1_000, 0),
    ],
)
def test_the_reply_that_a_sum_pays_for(
    price: Price, usd: float, prompt: int, tokens: int | None
) -> None:
    assert price.reply_tokens(round(usd * DOLLAR), prompt) == tokens


def test_one_model_answers_under_whatever_name() -> None:
    prices = PriceList((("gpt-4o", PLAIN),))
    assert prices.cost(Usage(1, 0), "some-deployment") == PLAIN.cost(Usage(1, 0))


def test_of_several_models_the_one_that_answered_counts() -> None:
    dear = Price(30, 150)
    prices = PriceList((("m", PLAIN), ("m-large", dear), ("other", None)))
    usage = Usage(10, 10)
    assert prices.cost(usage, "m-2026-01-01") == PLAIN.cost(usage)
    assert prices.cost(usage, "m-large-2026-01-01") == dear.cost(usage)
    assert prices.cost(usage, "other") is None
    assert prices.cost(usage, "a name of its own") is None
    assert prices.cost(usage) is None
    assert prices.cost_at_most(usage) == dear.cost(usage)
    assert prices.reply_tokens(dear.cost(Usage(0, 7)), 0) == 7
    assert prices.unknown == ["other"]


def test_models_of_one_price_need_no_telling_apart() -> None:
    assert PriceList((("a", PLAIN), ("b", PLAIN))).cost(Usage(1, 0)) == PLAIN.cost(Usage(1, 0))


def test_without_a_price_there_is_no_cost() -> None:
    for prices in (PriceList(), PriceList((("m", None),))):
        assert prices.cost(Usage(1, 1), "m") is None
        assert prices.cost_at_most(Usage(1, 1)) == 0


@pytest.mark.parametrize(
    ("usd", "words"),
    [(0.0123, "$0.0123"), (0.0, "$0.0000"), (0.000012, "$0.000012"), (12.5, "$12.5000")],
)
def test_money_in_words(usd: float, words: str) -> None:
    assert money_words(usd) == words
