"""What a probe finds: a line each, with a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from claw.providers.quirks import NO_QUIRKS, Quirks
from claw.values import frozen

# What some findings look at.
BASE_URL = "base URL"
CALLS = "tool calls"
KEY = "key"  # it was refused
VERDICT = "verdict"  # the last one: whether claw can use the server


class Verdict(str, Enum):
    """What a finding means for working with this server."""

    OK = "ok"
    COPES = "odd, claw copes"
    QUIRK = "needs a setting"
    FAULT = "a fault"
    UNKNOWN = "not seen"
    ABSENT = "not there"


@frozen
class Finding:
    """One line: `what` was looked at, what was `found`, in words for a person."""

    what: str
    found: str
    verdict: Verdict = Verdict.OK

    def to_dict(self) -> dict[str, str]:
        return {"what": self.what, "found": self.found, "verdict": self.verdict.value}


@frozen
class Report:
    """All that a probe found out.

    base_url: the one that works, or the one given where none does. dialect: "openai" or
    "anthropic"; "" where the server speaks neither. usable: claw can work with it. quirks: the
    record for a preset. complete: there was time for every question.
    """

    base_url: str
    dialect: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    usable: bool = False
    quirks: Quirks = NO_QUIRKS
    complete: bool = True
    findings: tuple[Finding, ...] = ()

    @property
    def key_refused(self) -> bool:
        """The server wants a key, or another one."""
        return any(finding.what == KEY for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        return {
            "base_url": self.base_url,
            "dialect": self.dialect,
            "model": self.model,
            "models": list(self.models),
            "usable": self.usable,
            "quirks": changed(self.quirks),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def changed(quirks: Quirks) -> Mapping[str, Any]:
    """The quirks that aren't at their default, by name."""
    names = [each.name for each in fields(quirks)]
    values = {name: getattr(quirks, name) for name in names}
    return {name: values[name] for name in names if values[name] != getattr(NO_QUIRKS, name)}
