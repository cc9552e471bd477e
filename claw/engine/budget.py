"""Spending: what a run has used, and what its budget leaves for the next reply.

Every request of a run passes `admit`, and every reply `add_reply` (both in reply.py), so what is
spent on summaries and by sub-agents counts as well. A budget is a promise: a prompt is reckoned
with before it is sent, as if nothing of it were in the server's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from claw.engine.context import context_tokens, message_tokens
from claw.errors import ConfigError
from claw.messages import Message, StopReason, Usage
from claw.pricing.budget import Budget
from claw.pricing.price import DOLLAR, Price, PriceList, dollars, money_words
from claw.providers.base import ModelRequest

LEAST_REPLY = 256  # tokens; with less there is no use in asking
LONGEST_REPLY = 128_000  # tokens; no model writes more
NEARLY = 0.95  # of the cap: some servers don't count the last token
NO_USAGE = "the server tells no token counts: the budget is kept to by an estimate"


class BudgetSpent(Exception):
    """There is no room for the next request: the run ends with BUDGET. Never leaves the engine."""


class Spending:
    """What one run has used. Touched by engine threads, one at a time, but for `lost`.

    parent: what this is a part of, as a sub-agent's run is of the outer one: all is counted there
    as well, and that budget holds too. usage: as the server told it. lost: of replies that never
    became whole; the producer's thread adds to it. cut: the last reply was cut off because the
    budget left no room for more. ConfigError: the budget is in money, and a price isn't known.
    """

    def __init__(
        self,
        budget: Budget | None = None,
        price: Price | PriceList | None = None,
        parent: Spending | None = None,
    ) -> None:
        self.budget = budget
        self.parent = parent
        self.usage = Usage()
        self.lost: list[Usage] = []
        self.cut = False
        self._prices = price_list(price)
        self._tokens = 0
        self._money = 0  # picodollars
        self._exact = True
        self._prompt = 0
        self._cap: int | None = None
        self._notices: list[str] = []
        self._told_of_estimate = False
        check_budget(budget, self._prices)

    @property
    def cost(self) -> float | None:
        """US dollars so far; None where a price or a count isn't known."""
        known = len(self._prices.unknown) < len(self._prices.models)
        return dollars(self._money) if self._exact and known else None

    @property
    def capped(self) -> bool:
        """Whether the request that was admitted last got its limit from the budget."""
        return self._cap is not None

    def admit(self, request: ModelRequest, window: int | None = None) -> ModelRequest:
        """The request as it may be sent: its reply no longer than the budget pays for. Raises
        BudgetSpent where that is too little; a notice says so.

        A limit above what the model can write isn't sent: some servers refuse it as too long a
        request. window: the tokens that the model takes, where that is known.
        """
        self.settle()
        self._prompt, self._cap = 0, None
        limited = [each for each in self._with_parents() if each.budget is not None]
        if not limited:
            return request
        self._prompt = context_tokens(request)
        tightest = min(limited, key=lambda each: each._room(self._prompt))
        room = tightest._room(self._prompt)
        if room < LEAST_REPLY:
            self._notices.append(
                f"the budget has no room for the next request: {tightest._words()}, and it would "
                f"send about {self._prompt:,} tokens"
            )
            raise BudgetSpent
        longest = min(request.max_tokens or LONGEST_REPLY, LONGEST_REPLY)
        if window is not None:
            longest = min(longest, window - self._prompt)
        if room >= longest:
            return request
        self._cap = room
        return replace(request, max_tokens=room)

    def add_reply(self, message: Message) -> None:
        """Counts the reply to what was admitted last."""
        usage = message.usage or Usage()
        told = usage.input_tokens + usage.output_tokens > 0
        at_the_cap = self._cap is not None and usage.output_tokens >= NEARLY * self._cap
        self.cut = (
            message.stop_reason is StopReason.MAX_TOKENS
            and self._cap is not None
            and (at_the_cap or not told)
        )
        if told:
            self._add(usage, message.model)
            return
        estimate = Usage(self._prompt, message_tokens(message))
        self._charge(Usage(), estimate, self._prices.cost_at_most(estimate), exact=False)
        outermost = [*self._with_parents()][-1]
        if self._prompt and not outermost._told_of_estimate:
            outermost._told_of_estimate = True
            self._notices.append(NO_USAGE)

    def settle(self) -> None:
        """Counts what was lost since."""
        while self.lost:
            self._add(self.lost.pop(0), "")

    def take_notices(self) -> list[str]:
        """The lines that the user hasn't been told yet."""
        notices, self._notices = self._notices, []
        return notices

    def _add(self, usage: Usage, answered: str) -> None:
        cost = self._prices.cost(usage, answered)
        money = self._prices.cost_at_most(usage) if cost is None else cost
        self._charge(usage, usage, money, exact=cost is not None)

    def _charge(self, usage: Usage, counted: Usage, money: int, *, exact: bool) -> None:
        for each in self._with_parents():
            each.usage += usage
            each._tokens += counted.input_tokens + counted.output_tokens
            each._money += money
            each._exact = each._exact and exact

    def _room(self, prompt: int) -> int:
        """Tokens that the reply to a prompt of that size may have."""
        assert self.budget is not None
        if self.budget.tokens is not None:
            return self.budget.tokens - self._tokens - prompt
        assert self.budget.usd is not None
        left = round(self.budget.usd * DOLLAR) - self._money
        room = self._prices.reply_tokens(left, prompt)
        return LONGEST_REPLY if room is None else room

    def _words(self) -> str:
        used = f"{self._tokens:,}"
        if self.budget is not None and self.budget.usd is not None:
            used = money_words(dollars(self._money))
        return f"{used} of {self.budget} used"

    def _with_parents(self) -> Iterator[Spending]:
        each: Spending | None = self
        while each is not None:
            yield each
            each = each.parent


def price_list(price: Price | PriceList | None) -> PriceList:
    """One price is that of whoever answers."""
    if isinstance(price, Price):
        return PriceList((("", price),))
    return price or PriceList()


def check_budget(budget: Budget | None, price: Price | PriceList | None) -> None:
    """ConfigError for a budget in money where a price isn't known: it couldn't be kept to."""
    prices = price_list(price)
    if budget is None or budget.usd is None or (prices.models and not prices.unknown):
        return
    name = f'"{prices.unknown[0]}"' if prices.unknown else "the model"
    raise ConfigError(
        f"a budget in money needs the price of {name}, which isn't known: give the budget in "
        "tokens, or write the price into config.toml as [prices.MODEL]"
    )
