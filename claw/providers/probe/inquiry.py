"""Inquiry: one probe on its way, with what it knows so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from claw.cancel import CancelToken
from claw.errors import ConnectionLost, HTTPStatusError
from claw.providers.base import ModelRequest
from claw.providers.endpoint import MASK
from claw.providers.probe.findings import Finding, Report, Verdict, changed
from claw.providers.probe.line import Line, Target, base_urls
from claw.providers.probe.recording import Answer
from claw.providers.quirks import NO_QUIRKS, Quirks

Ways: TypeAlias = Sequence[Mapping[str, Any]]
"""Other ways to send a request, as changes of the quirks, in the order in which they are tried."""

REFUSALS = frozenset({400, 422, 500, 501})  # statuses after which another way may work

WORDS: Mapping[str, str] = {
    "max_tokens_field": "it wants max_completion_tokens in place of max_tokens",
    "stream_options": "it refuses stream_options",
    "tools": "it refuses tools",
    "parallel_calls": "it can do with one call at a time only",
    "calls_in_text": "they are written as text",
    "assistant_after_tools": "it refuses a question right after results",
    "echo_extras": "it wants back what came along with its replies",
    "reasoning_field": "it wants reasoning_content in each of its messages",
    "think_tags": "it stands in the text, up to </think>",
    "think_tag_opened": "its first tag is missing",
}


class Inquiry:
    """The questions asked, the answers, the findings, and the quirks found. For one thread."""

    def __init__(
        self, target: Target, cancel: CancelToken, on_finding: Callable[[Finding], object]
    ) -> None:
        self.target = target
        self.cancel = cancel
        self.base_url = base_urls(target.base_url)[0]
        self.models: tuple[str, ...] = ()
        self.model = target.model
        self.line: Line | None = None
        self.quirks = NO_QUIRKS
        self.findings: list[Finding] = []
        self.answers: list[Answer] = []
        self._on_finding = on_finding
        self._located = False

    def tell(self, what: str, found: str, verdict: Verdict = Verdict.OK) -> None:
        self.add(Finding(what, found, verdict))

    def add(self, finding: Finding) -> None:
        """Takes a finding, without the key where a server's words hold it, and tells it."""
        for secret in self.target.secrets:
            finding = replace(finding, found=finding.found.replace(secret, MASK))
        self.findings.append(finding)
        self._on_finding(finding)

    def locate(self, base_url: str) -> None:
        """The server is found at `base_url`, which is told once."""
        if self._located:
            return
        self._located = True
        self.base_url = base_url
        given = self.target.base_url.strip().rstrip("/")
        if base_url == given:
            self.tell("base URL", base_url)
        else:
            words = "the /v1 was missing" if base_url == f"{given}/v1" else f"not {given}"
            self.tell("base URL", f"{base_url} ({words})", Verdict.QUIRK)

    def take(self, what: str, quirks: Quirks) -> None:
        """Takes `quirks` for what this server wants, and tells what is new in them."""
        before, after = changed(self.quirks), changed(quirks)
        new = [WORDS[name] for name in after if name not in before]
        self.quirks = quirks
        self.tell(what, "; ".join(new), Verdict.QUIRK)

    def ask(self, line: Line, request: ModelRequest, quirks: Quirks | None = None) -> Answer:
        """One question in the way that is known to work so far, or in another."""
        answer = line.ask(request, quirks or self.quirks, self.cancel)
        if _is_hiccup(answer):  # what is to count must come twice
            answer = line.ask(request, quirks or self.quirks, self.cancel)
        self.answers.append(answer)
        return answer

    def ask_in_ways(self, line: Line, what: str, request: ModelRequest, ways: Ways) -> Answer:
        """Asks again in other ways where the request is refused; takes the first that works."""
        answer = self.ask(line, request)
        if is_refused(answer):
            for way in ways:
                quirks = replace(self.quirks, **way)
                other = self.ask(line, request, quirks)
                if other.message is not None:
                    self.take(what, quirks)
                    return other
        return answer

    @property
    def usable(self) -> bool:
        """The server answers; whether it is slow is another matter."""
        return any(answer.works for answer in self.answers)

    def report(self) -> Report:
        return Report(
            base_url=self.base_url,
            dialect=self.line.dialect if self.line else "",
            model=self.model,
            models=self.models,
            usable=self.usable,
            quirks=self.quirks,
            findings=tuple(self.findings),
        )


def is_refused(answer: Answer) -> bool:
    """The server understood that it was asked, and wants to be asked in another way."""
    return isinstance(answer.error, HTTPStatusError) and answer.error.status in REFUSALS


def _is_hiccup(answer: Answer) -> bool:
    """It may have nothing to do with the question: a server's fault, a connection gone stale."""
    error = answer.error
    if isinstance(error, HTTPStatusError):
        return error.status >= 500
    return isinstance(error, ConnectionLost) and not answer.arrivals
