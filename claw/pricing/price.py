"""Price and PriceList: what tokens cost.

Sums of money are whole picodollars: at any price with six decimals one token costs a whole number
of them, so nothing is lost on the way, and only what is shown is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence

from claw.messages import Usage
from claw.values import frozen

DOLLAR = 10**12  # picodollars
MILLION = 10**6  # picodollars of one token, where a million tokens cost a dollar


@frozen
class Price:
    """What a model costs, in US dollars per million tokens. Reasoning is paid as output.

    cached: of the prompt, what the server had in its cache. cache_write: what it put there. None:
    as `input`. above: (tokens, price): a request whose prompt is longer costs that, as a whole.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    above: tuple[int, Price] | None = None

    def cost(self, usage: Usage) -> int:
        """Picodollars for one request."""
        price = self._for_prompt(usage.input_tokens)
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        return (
            (usage.input_tokens - cached - written) * _per_token(price.input)
            + cached * _per_token(price._or_input(price.cached))
            + written * _per_token(price._or_input(price.cache_write))
            + usage.output_tokens * _per_token(price.output)
        )

    def reply_tokens(self, money: int, prompt: int) -> int | None:
        """How long a reply `money` pays for, behind `prompt` tokens of which the cache has none.
        None: a reply costs nothing."""
        price = self._for_prompt(prompt)
        dearest = max(price.input, price._or_input(price.cache_write))
        left = money - prompt * _per_token(dearest)
        per_token = _per_token(price.output)
        if left < 0:
            return 0
        return left // per_token if per_token else None

    def _for_prompt(self, tokens: int) -> Price:
        return self.above[1] if self.above is not None and tokens > self.above[0] else self

    def _or_input(self, price: float | None) -> float:
        return self.input if price is None else price


@frozen
class PriceList:
    """What the models cost that may answer: (name as it is asked for, price; None: not known).

    With fallbacks there are several; who answered is known by the name that the server tells.
    """

    models: tuple[tuple[str, Price | None], ...] = ()

    @property
    def unknown(self) -> Sequence[str]:
        """The models whose price isn't known."""
        return [name for name, price in self.models if price is None]

    def cost(self, usage: Usage, answered: str = "") -> int | None:
        """Picodollars for a reply of the model that calls itself `answered`; None: not known."""
        prices = {price for _, price in self.models}
        price = prices.pop() if len(prices) == 1 else self._price_of(answered)
        return None if price is None else price.cost(usage)

    def cost_at_most(self, usage: Usage) -> int:
        """Picodollars if the dearest of the models answered whose price is known."""
        return max((price.cost(usage) for _, price in self.models if price), default=0)

    def reply_tokens(self, money: int, prompt: int) -> int | None:
        """As Price.reply_tokens, whoever of the models answers."""
        counts = [price.reply_tokens(money, prompt) for _, price in self.models if price]
        return min((count for count in counts if count is not None), default=None)

    def _price_of(self, answered: str) -> Price | None:
        """Servers tell a longer name than they were asked for: with a date behind it."""
        fitting = [each for each in self.models if each[0] and answered.startswith(each[0])]
        return max(fitting, key=lambda each: len(each[0]))[1] if fitting else None


def dollars(picodollars: int) -> float:
    """As it is told: rounded to six places, with no dust of binary fractions behind them."""
    return round(picodollars / DOLLAR, 6)


def money_words(usd: float) -> str:
    """`$0.0123`; two more places where these would show nothing."""
    return f"${usd:.6f}" if 0 < usd < 0.0001 else f"${usd:.4f}"


def _per_token(price: float) -> int:
    return round(price * MILLION)
