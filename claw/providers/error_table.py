"""The one place where foreign exceptions and HTTP statuses become claw's errors.

requests wraps urllib3's errors, which wrap the system's. The outer types say little (a mid-stream
timeout is a requests.ConnectionError), so everything that an error wraps is looked at, and the
first row of the table that fits counts. Whether a cancel was behind it is asked before, of the
token and not of the exception.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from http.client import HTTPException, RemoteDisconnected

from requests.exceptions import InvalidHeader, InvalidURL
from urllib3.exceptions import DecodeError, LocationValueError, ProxyError

from claw.errors import (
    AuthError,
    ClawError,
    ConfigError,
    ConnectError,
    ConnectionLost,
    ContextLengthError,
    HTTPStatusError,
    OverloadedError,
    ProtocolError,
    ProviderError,
    RateLimitError,
    ReadTimeout,
)
from claw.providers.advice import advice_for
from claw.providers.endpoint import Endpoint
from claw.providers.masking import without_secrets
from claw.providers.patience import TookTooLong
from claw.providers.retry import retry_after
from claw.providers.server_errors import one_line, read_error_text
from claw.values import frozen


@frozen
class Row:
    """A foreign exception (with this errno, where one is given) and the words for it.

    The words may use {host}, {cause} and {seconds}, the connect timeout. retryable: the same
    request may succeed later; None: the settings must be mended first, a ConfigError.
    """

    kind: type[BaseException]
    words: str
    retryable: bool | None
    errno: int | None = None

    def fits(self, error: BaseException) -> bool:
        return isinstance(error, self.kind) and self.errno in (None, getattr(error, "errno", None))


# Before there was a connection. TLS errors and failed look-ups are OSErrors too: they come first.
UNREACHABLE = (
    Row(InvalidURL, "the base URL can't be used: {cause}", None),
    Row(InvalidHeader, "a header can't be sent: {cause}", None),
    Row(LocationValueError, "the base URL can't be used: {cause}", None),
    Row(ProxyError, "the proxy on the way to {host} doesn't work ({cause})", True),
    Row(
        socket.gaierror,
        "can't look up {host} at the moment. Is this machine online?",
        True,
        socket.EAI_AGAIN,
    ),
    Row(socket.gaierror, "there is no server named {host}: check the base URL. ({cause})", False),
    Row(
        ssl.SSLCertVerificationError,
        "the certificate of {host} isn't trusted ({cause}). For a company's own "
        "authority set SSL_CERT_FILE to its file.",
        False,
    ),
    Row(
        ssl.SSLError,
        "no TLS connection to {host} ({cause}). Does the server want http:// instead of https://?",
        False,
    ),
    Row(ConnectionRefusedError, "nothing listens at {host}: is the server running there?", True),
    Row(TimeoutError, "{host} didn't answer within {seconds:g} s: is it up and reachable?", True),
    Row(OSError, "can't connect to {host}: {cause}", True),
)

RETRYABLE_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
STATUS_ERRORS: Mapping[int, type[HTTPStatusError]] = {
    401: AuthError,
    403: AuthError,
    429: RateLimitError,
    503: OverloadedError,
    529: OverloadedError,
}
BODY_KEPT = 2000
GARBAGE_SHOWN = 80  # characters of what came in place of an answer
ADDRESS_SHOWN = 200  # characters of where a server redirects to


def unanswered(error: Exception, endpoint: Endpoint, *, connected: bool) -> ClawError:
    """Why a request got no answer. `connected`: there was a connection to the server."""
    causes = list(_wrapped_in(error))
    if not connected:
        for row in UNREACHABLE:
            for cause in filter(row.fits, causes):
                words = row.words.format(
                    host=endpoint.host, cause=_reason(cause), seconds=endpoint.clocks.connect
                )
                if row.retryable is None:
                    return ConfigError(words)
                return ConnectError(words, retryable=row.retryable)
    if any(isinstance(cause, TookTooLong) for cause in causes):
        return ReadTimeout(
            f"{endpoint.host} is connected, but the head of an answer didn't come whole within "
            f"{endpoint.clocks.progress:g} s"
        )
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return ReadTimeout(
            f"{endpoint.host} is connected, but sent nothing for {endpoint.clocks.idle:g} s"
        )
    if garbled := [each for each in causes if _is_garbled(each)]:
        what = one_line(_reason(garbled[0]), GARBAGE_SHOWN)
        return ConnectionLost(
            f"{endpoint.host} gave an answer that isn't HTTP ({what}): the fault is the "
            "server's, or that of a proxy before it"
        )
    return ConnectionLost(
        f"{endpoint.host} closed the connection before it answered: the fault is the server's, or "
        "that of a proxy before it"
    )


def broken_off(error: Exception, endpoint: Endpoint) -> ProviderError:
    """Why a body that had begun did not come to its end."""
    causes = list(_wrapped_in(error))
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return ReadTimeout(f"{endpoint.host} fell silent")
    if any(isinstance(cause, DecodeError) for cause in causes):
        return ProtocolError(f"{endpoint.host} sent a body whose compression is broken")
    system = [f" ({_reason(cause)})" for cause in causes if isinstance(cause, ConnectionError)]
    return ConnectionLost(
        f"the connection to {endpoint.host} broke in the middle of the reply"
        f"{''.join(system[:1])}: ask again"
    )


def bad_status(
    status: int, headers: Mapping[str, str], body: str, endpoint: Endpoint
) -> HTTPStatusError:
    """The error for an answer whose status isn't 2xx."""
    if 300 <= status < 400:
        place = without_secrets(headers.get("Location") or "nowhere", endpoint.secrets)
        return HTTPStatusError(
            f"{endpoint.host} redirects to {one_line(place, ADDRESS_SHOWN)}, which isn't followed, "
            "since the key would go there: set the base URL to where the server is",
            status=status,
        )
    body = without_secrets(body, endpoint.secrets)  # before anything is cut
    fault = read_error_text(body)
    kind = STATUS_ERRORS.get(status, HTTPStatusError)
    words = fault.words.rstrip(". ") or "no reason given"
    return (ContextLengthError if fault.context_overflow else kind)(
        f"{endpoint.host} answered {status}: {words}. {advice_for(status, fault)}",
        status=status,
        body=body[:BODY_KEPT],
        retryable=status in RETRYABLE_STATUSES and not (fault.quota or fault.context_overflow),
        retry_after=retry_after(headers),
        context_overflow=fault.context_overflow,
        context_limit=fault.context_limit,
    )


def _is_garbled(error: BaseException) -> bool:
    """Something came in place of an answer; RemoteDisconnected says that nothing did."""
    return isinstance(error, HTTPException) and not isinstance(error, RemoteDisconnected)


def _wrapped_in(error: BaseException) -> Iterator[BaseException]:
    """The error, then everything it wraps, outermost first."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        inner = [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
        waiting += [cause for cause in inner if isinstance(cause, BaseException)]


def _reason(error: BaseException) -> str:
    """The words of the innermost system error, or else the error's own, on one line."""
    error = [error, *(each for each in _wrapped_in(error) if isinstance(each, OSError))][-1]
    words = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error)
    return one_line(words) or type(error).__name__
