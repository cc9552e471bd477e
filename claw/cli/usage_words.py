"""What was used, in words: after each turn, and for /usage."""

from __future__ import annotations

from claw.events import RunResult
from claw.pricing.price import money_words
from claw.results import Totals


def usage_words(result: RunResult) -> str:
    """`2 steps, 1,234 tokens in, 56 out, $0.0123, 3.2 s`, as far as it is known."""
    usage = result.usage
    words = ["1 step" if result.steps == 1 else f"{result.steps} steps"]
    if usage.input_tokens or usage.output_tokens:
        words.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
        if result.cost is not None:
            words.append(money_words(result.cost))
    return ", ".join([*words, f"{result.duration_s:.1f} s"])


def totals_words(totals: Totals) -> str:
    """The turns of a session, added up. A sum of money says of which turns it isn't."""
    usage = totals.usage
    words = [
        f"{_turns(totals.turns)}: {usage.input_tokens:,} tokens in"
        f" ({usage.cached_tokens:,} of them cached)",
        f"{usage.output_tokens:,} out ({usage.reasoning_tokens:,} of them reasoning)",
    ]
    if totals.cost:
        without = f" without {_turns(totals.unpriced)} of unknown cost" if totals.unpriced else ""
        words.append(money_words(totals.cost) + without)
    return ", ".join(words)


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"
