"""Budget: what a run may use, in tokens or in money."""

from __future__ import annotations

import math
import re

from claw.errors import ConfigError
from claw.values import frozen

TOKENS = r"([0-9]+(?:\.[0-9]+)?)([kKmM]?)"
MONEY = r"\$([0-9]*\.?[0-9]+)|([0-9]*\.?[0-9]+) ?(?i:usd)"
UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
FORMS = "write tokens like 50000, 50k or 1.5m, or money like 0.50usd"


@frozen
class Budget:
    """Either `tokens`, in and out, as the server counts them, cached ones included; or `usd`."""

    tokens: int | None = None
    usd: float | None = None

    def __post_init__(self) -> None:
        one_of_them = (self.tokens is None) != (self.usd is None)
        if not one_of_them or not 0 < (self.tokens or self.usd or 0) < math.inf:
            raise ConfigError("a budget is a number of tokens or a sum of money, over 0")

    def __str__(self) -> str:
        if self.usd is None:
            return f"{self.tokens:,} tokens"
        return f"${self.usd:.2f}" if round(self.usd, 2) == self.usd else f"${self.usd:g}"


def parse_budget(words: str, source: str) -> Budget:
    """Reads `50k`, `50000`, `1.5m`, `0.50usd`, `$0.50`; ConfigError, one line with the `source`."""
    words = words.strip()
    try:
        if found := re.fullmatch(MONEY, words):
            return Budget(usd=float(found[1] or found[2]))
        if found := re.fullmatch(TOKENS, words):
            tokens = round(float(found[1]) * UNITS[found[2].lower()], 6)  # 1.001k is 1001
            if tokens.is_integer():
                return Budget(tokens=int(tokens))
    except ConfigError:  # it is 0, or endless
        pass
    raise ConfigError(f'{source}: "{words[:40]}" is no budget: {FORMS}')
