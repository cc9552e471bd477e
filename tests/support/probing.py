"""Probes of servers on loopback, and their findings."""

from __future__ import annotations

from typing import Any

from claw.cancel import CancelToken
from claw.providers.probe import Finding, Report, Target, probe
from tests.support.server import Behaviour, serve


def probed(url: str, *, seconds: float = 30, **more: Any) -> Report:
    return probe(Target(url, **more), CancelToken(timeout=seconds))


def report_on(behaviour: Behaviour, **more: Any) -> Report:
    """Of a server on loopback that behaves so."""
    with serve(behaviour) as server:
        return probed(server.url, **more)


def found(report: Report, what: str) -> Finding:
    """The last finding about `what`."""
    return [finding for finding in report.findings if finding.what == what][-1]
