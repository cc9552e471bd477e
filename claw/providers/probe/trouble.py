"""What is wrong where no server that claw can talk to was found, from the errors that came."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from claw.errors import (
    AuthError,
    ConnectionLost,
    HTTPStatusError,
    OverloadedError,
    ProviderError,
    RateLimitError,
    ReadTimeout,
)
from claw.providers.advice import without_advice
from claw.providers.probe.findings import BASE_URL, KEY, Finding, Verdict
from claw.providers.server_errors import read_error_text

PAGE = "an HTML page"  # as errors call it, whatever was asked

Is: TypeAlias = Callable[[ProviderError], bool]


def is_page(error: ProviderError) -> bool:
    """A web site answered, or the error page of one."""
    if isinstance(error, HTTPStatusError):
        return read_error_text(error.body).is_page
    return PAGE in error.message


def is_busy(error: ProviderError) -> bool:
    """Someone is there who can't answer now: a fault of the moment, not of the base URL."""
    busy = isinstance(error, RateLimitError | OverloadedError)
    return busy or (isinstance(error, HTTPStatusError) and error.status in (502, 504))


def is_redirect(error: ProviderError) -> bool:
    return isinstance(error, HTTPStatusError) and 300 <= error.status < 400


def in_short(error: ProviderError) -> str:
    """Why there is no list of models, in a few words: it need not matter."""
    if is_page(error):
        return PAGE
    if isinstance(error, HTTPStatusError):
        return f"status {error.status}"
    return without_advice(error).message


def trouble(errors: Sequence[ProviderError], tried: Sequence[str]) -> Finding:
    """The one finding that leads on. errors: one at least; tried: the base URLs asked.

    The errors of several URLs differ: what tells most comes first in the table.
    """
    for fits, explain in EXPLANATIONS:
        if fitting := [error for error in errors if fits(error)]:
            return explain(fitting[0], " and ".join(dict.fromkeys(tried)))
    raise AssertionError("the last row fits everything")


def _key(error: ProviderError, tried: str) -> Finding:
    return Finding(KEY, error.message, Verdict.FAULT)


def _busy(error: ProviderError, tried: str) -> Finding:
    words = f"busy: {error.message}" if error.retryable else error.message
    return Finding("server", words, Verdict.FAULT)


def _server(error: ProviderError, tried: str) -> Finding:
    return Finding("server", error.message, Verdict.FAULT)


def _elsewhere(error: ProviderError, tried: str) -> Finding:
    return Finding(BASE_URL, error.message, Verdict.FAULT)


def _page(error: ProviderError, tried: str) -> Finding:
    title = without_advice(error).message.partition(f"{PAGE}: ")[2].rstrip(". ")
    named = f' ("{title}")' if title else ""
    words = f"a web page answers{named}, no model server: is the path right? Tried {tried}"
    return Finding(BASE_URL, words, Verdict.FAULT)


def _silence(error: ProviderError, tried: str) -> Finding:
    words = f"{error.message}: is it up, and is the port right?"
    return Finding("server", words, Verdict.FAULT)


def _hung_up(error: ProviderError, tried: str) -> Finding:
    other = "http://" if tried.startswith("https") else "https://"
    words = f"{error.message}. Does it want {other}?"
    return Finding("server", words, Verdict.FAULT)


def _nothing(error: ProviderError, tried: str) -> Finding:
    words = without_advice(error).message.rstrip(".")
    return Finding(BASE_URL, f"no model server there: {words}. Tried {tried}", Verdict.FAULT)


EXPLANATIONS: Sequence[tuple[Is, Callable[[ProviderError, str], Finding]]] = (
    (lambda error: isinstance(error, AuthError) and not is_page(error), _key),
    (is_busy, _busy),
    (is_redirect, _elsewhere),
    (lambda error: isinstance(error, HTTPStatusError) and error.status >= 500, _server),
    (is_page, _page),
    (lambda error: isinstance(error, ReadTimeout), _silence),
    (lambda error: isinstance(error, ConnectionLost), _hung_up),
    (lambda error: True, _nothing),
)
