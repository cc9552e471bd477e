"""Probing a server: what it speaks, and how it bends the protocol."""

from __future__ import annotations

from claw.providers.probe.examination import probe
from claw.providers.probe.findings import Finding, Report, Verdict, changed
from claw.providers.probe.line import NAMES, Target

__all__ = ["NAMES", "Finding", "Report", "Target", "Verdict", "changed", "probe"]
