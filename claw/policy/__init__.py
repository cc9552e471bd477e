"""The pure decision about a call: `judge(request, settings)` says whether it runs, and why not.

The values are here at once; the decision, with the tables it knows, comes with the first call.
"""

from claw.policy.verdict import Answer, Kind, PolicySettings, Request, Rule, Verdict

__all__ = ["Answer", "Kind", "PolicySettings", "Request", "Rule", "Verdict"]
