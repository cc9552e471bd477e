"""Inquiry: one probe on its way, with what it knows so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from claw.cancel import CancelToken
from claw.errors import ConnectionLost, HTTPStatusError, StreamTruncated
from claw.providers.base import ModelRequest
from claw.providers.manner import Manner
from claw.providers.masking import without_secrets
from claw.providers.mending import remedies_for
from claw.providers.probe.findings import (
    BASE_URL,
    CALLS,
    VERDICT,
    Finding,
    Report,
    Verdict,
    changed,
)
from claw.providers.probe.line import Line, Target, base_urls
from claw.providers.probe.questions import broken_body
from claw.providers.probe.recording import Answer
from claw.providers.quirks import NO_QUIRKS, Quirks

Ways: TypeAlias = Sequence[Mapping[str, Any]]
"""Other ways to send a request, as changes of the quirks, in the order in which they are tried."""

REFUSALS = frozenset({400, 422, 500, 501})  # statuses after which another way may work

WORDS: Mapping[str, str] = {
    "max_tokens_field": "it wants max_completion_tokens in place of max_tokens",
    "output_limit": "it lets no reply be longer than {:,} tokens",
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
        self.complete = True
        self._flaw = ""
        self._on_finding = on_finding
        self._located = False

    def tell(self, what: str, found: str, verdict: Verdict = Verdict.OK) -> None:
        self.add(Finding(what, found, verdict))

    def add(self, finding: Finding, *, vital: bool = False) -> None:
        """Takes a finding, without the key wherever it may come from, and tells it.

        vital: with a fault there, claw can't use the server.
        """
        finding = replace(finding, found=without_secrets(finding.found, self.target.secrets))
        if vital and finding.verdict is Verdict.FAULT:
            self._flaw = self._flaw or finding.what
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
            self.tell(BASE_URL, base_url)
        else:
            words = "the /v1 was missing" if base_url == f"{given}/v1" else f"not {given}"
            self.tell(BASE_URL, f"{base_url} ({words})", Verdict.QUIRK)

    def take(self, what: str, quirks: Quirks) -> None:
        """Takes `quirks` for what this server wants, and tells what is new in them."""
        before, after = changed(self.quirks), changed(quirks)
        new = [WORDS[name].format(after[name]) for name in after if name not in before]
        self.quirks = quirks
        self.tell(what, "; ".join(new), Verdict.QUIRK)

    def ask(self, line: Line, request: ModelRequest, quirks: Quirks | None = None) -> Answer:
        """One question in the way that is known to work so far, or in another.

        Where the server names a limit below the one that was asked for, it is asked for that.
        """
        way = quirks or self.quirks
        answer = self._twice(lambda: line.ask(request, way, self.cancel))
        if limit := _limit_named(answer, way):
            way = replace(way, output_limit=limit)
            other = self._twice(lambda: line.ask(request, way, self.cancel))
            if other.message is not None:
                self.take("longest reply", replace(self.quirks, output_limit=limit))
                answer = other
        self.answers.append(answer)
        return answer

    def provoke(self, line: Line) -> Answer:
        """The answer to a request that is none."""
        return self._twice(lambda: line.post(broken_body(line.model), self.cancel))

    def ask_in_ways(self, line: Line, what: str, request: ModelRequest, ways: Ways) -> Answer:
        """Asks again in other ways where the request is refused; takes the first that works."""
        answer = self.ask(line, request)
        if is_refused(answer):
            for way in ways:
                other = self.ask(line, request, replace(self.quirks, **way))
                if other.message is not None:
                    self.take(what, replace(self.quirks, **way))
                    return other
        return answer

    def out_of_time(self) -> None:
        self.complete = False
        self.tell("time", "it was up before everything was asked (--timeout)", Verdict.UNKNOWN)

    @property
    def usable(self) -> bool:
        """The server answers, and without a fault that claw can't live with; whether it is slow is
        another matter."""
        return not self._flaw and any(answer.works for answer in self.answers)

    def conclude(self) -> Report:
        """The verdict, and with it everything."""
        self.add(self._verdict())
        return self.report()

    def report(self) -> Report:
        """What is known by now."""
        return Report(
            base_url=self.base_url,
            dialect=self.line.dialect if self.line else "",
            model=self.target.hide(self.model),
            models=tuple(map(self.target.hide, self.models)),
            usable=self.usable,
            quirks=self.quirks,
            complete=self.complete,
            findings=tuple(self.findings),
        )

    def _twice(self, ask: Callable[[], Answer]) -> Answer:
        """What is to count must come twice."""
        answer = ask()
        return ask() if _is_hiccup(answer) else answer

    def _verdict(self) -> Finding:
        """Whether claw can use the server, with the row that says why not."""
        if self.usable and not self.quirks.tools:
            return Finding(VERDICT, "claw can talk with it, but the model has no tools")
        if self.usable:
            return Finding(VERDICT, f"claw can use it{self._but()}")
        if self._flaw:
            words = f'claw can\'t use it as it is: see "{self._flaw}"'
            return Finding(VERDICT, words, Verdict.FAULT)
        why = "no whole reply came" if self.answers else "no model was asked"
        return Finding(VERDICT, f"not known: {why}", Verdict.UNKNOWN)

    def _but(self) -> str:
        if not self.complete:
            return ", as far as there was time to see"
        if any(each.what == CALLS and each.verdict is Verdict.UNKNOWN for each in self.findings):
            return "; the model made no tool call"
        settings = any(each.verdict is Verdict.QUIRK for each in self.findings)
        return ", with the settings found" if settings else ""


def is_refused(answer: Answer) -> bool:
    """The server understood that it was asked, and wants to be asked in another way."""
    return isinstance(answer.error, HTTPStatusError) and answer.error.status in REFUSALS


def _limit_named(answer: Answer, way: Quirks) -> int:
    """The longest reply, in tokens, that the server names where it refuses a longer one; or 0."""
    remedies = remedies_for(answer.error, Manner(way)) if answer.error else ()
    return max((remedy.quirks.get("output_limit", 0) for remedy in remedies), default=0)


def _is_hiccup(answer: Answer) -> bool:
    """It may be of the moment: a server's fault, a connection gone stale, a reply cut off."""
    error = answer.error
    if isinstance(error, HTTPStatusError):
        return error.status >= 500
    if isinstance(error, ConnectionLost):
        return not answer.arrivals
    return isinstance(error, StreamTruncated)
