"""What tokens cost: prices as data, sums of money, and a budget to keep to."""

from claw.pricing.budget import Budget, parse_budget
from claw.pricing.price import Price, PriceList

__all__ = ["Budget", "Price", "PriceList", "parse_budget"]
