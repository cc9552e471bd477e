"""The decision about a call: `judge(request, settings)` says whether it runs, and why not.

A function of these two values alone, but for the time limit of reading a command line. The values
are here at once; the decision, with the tables it knows, comes with its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claw.policy.verdict import Answer, Grant, Kind, PolicySettings, Request, Rule, Verdict

if TYPE_CHECKING:
    from claw.policy.decision import judge
    from claw.policy.rules import rule_of

__all__ = [
    "Answer",
    "Grant",
    "Kind",
    "PolicySettings",
    "Request",
    "Rule",
    "Verdict",
    "judge",
    "rule_of",
]


def __getattr__(name: str) -> Any:
    if name == "judge":
        from claw.policy.decision import judge

        return judge
    if name == "rule_of":
        from claw.policy.rules import rule_of

        return rule_of
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
