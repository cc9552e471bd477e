"""Every error claw raises, as one tree.

ClawError
├── ConfigError            the user can mend it: one line that says how
├── HistoryError           a caller's bug; names the offending ids
├── Cancelled              .reason: interrupt | deadline | the caller's own word
├── ToolError              a tool's expected failure: becomes an is_error result
└── ProviderError          .retryable .retry_after .context_overflow .context_limit
    ├── HTTPStatusError    .status .body (first 2 kB, key masked)
    │   ├── AuthError · RateLimitError · ContextLengthError · OverloadedError
    ├── ConnectError · ReadTimeout · StreamStalled · ConnectionLost
    ├── StreamTruncated    ended in good order with no stop reason
    ├── ServerReported     an error the server itself put into the stream
    └── ProtocolError      what came can't be read: not SSE, not JSON, over the size limit

Errors are values: equal and hashed by content, picklable, and they round-trip through
`to_dict()` and `ClawError.from_dict()`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar


class ClawError(Exception):
    """The root. `message` is one line for a person; `kind` names the class in JSON."""

    kind: ClassVar[str] = "error"
    fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def to_dict(self) -> dict[str, Any]:
        """`{"kind", "message"}` and the class's own fields."""
        return {
            "kind": self.kind,
            "message": self.message,
            **{name: getattr(self, name) for name in self.fields},
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> ClawError:
        """The error that `to_dict()` gave `data`; an unknown kind becomes a plain ClawError."""
        # A subclass of the user's that names no kind of its own is not meant.
        kinds = {cls.kind: cls for cls in _tree(ClawError) if "kind" in vars(cls)}
        chosen = kinds.get(data["kind"], ClawError)
        return chosen(data["message"], **{name: data[name] for name in chosen.fields})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.to_dict() == self.to_dict()

    def __hash__(self) -> int:
        return hash((type(self), self.message))

    def __reduce__(self) -> tuple[Any, ...]:
        return ClawError.from_dict, (self.to_dict(),)


class ConfigError(ClawError):
    """Settings, flags, keys or files that the user can mend; the message says how."""

    kind = "config"


class HistoryError(ClawError):
    """A message or a run that would break a Session's history: a caller's bug."""

    kind = "history"


class ToolError(ClawError):
    """Raised by a tool for a failure it expects; the model gets its words as the result."""

    kind = "tool"


class Cancelled(ClawError):
    """The token was cancelled. Raised inside a run, never out of `Engine.run`."""

    kind = "cancelled"
    fields = ("reason",)

    def __init__(self, message: str = "", *, reason: str = "cancelled") -> None:
        super().__init__(message or f"cancelled: {reason}")
        self.reason = reason


class ProviderError(ClawError):
    """The model could not be asked, or its reply could not be had.

    retryable: the same request may succeed later. retry_after: seconds the server asked for.
    context_overflow: the prompt is too long for the model, so that it can be shortened.
    context_limit: how many tokens the model takes, where the server named that; then only.
    """

    kind = "provider"
    fields: ClassVar[tuple[str, ...]] = (
        "retryable",
        "retry_after",
        "context_overflow",
        "context_limit",
    )
    retryable_by_default: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
        context_overflow: bool = False,
        context_limit: int | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = self.retryable_by_default if retryable is None else retryable
        self.retry_after = retry_after
        self.context_overflow = context_overflow
        self.context_limit = context_limit


class HTTPStatusError(ProviderError):
    """The server answered with a status that isn't 200."""

    kind = "http_status"
    fields = (*ProviderError.fields, "status", "body")

    def __init__(self, message: str, *, status: int, body: str = "", **details: Any) -> None:
        super().__init__(message, **details)
        self.status = status
        self.body = body


class AuthError(HTTPStatusError):
    """401 or 403: the key is missing, wrong, or may not use this model."""

    kind = "auth"


class RateLimitError(HTTPStatusError):
    """429: too many requests (retryable), or the quota is used up (not retryable)."""

    kind = "rate_limit"


class ContextLengthError(HTTPStatusError):
    """The prompt is too long for the model."""

    kind = "context_length"


class OverloadedError(HTTPStatusError):
    """503 or 529: the server has more work than it can take, or still loads its model."""

    kind = "overloaded"


class ConnectError(ProviderError):
    """No connection: unknown host, refused, unanswered, or a failed TLS handshake."""

    kind = "connect"
    retryable_by_default = True


class ReadTimeout(ProviderError):
    """Connected, but no answer began within the idle timeout."""

    kind = "read_timeout"
    retryable_by_default = True


class StreamStalled(ProviderError):
    """The reply began, then nothing that belongs to it came for too long."""

    kind = "stalled"
    retryable_by_default = True


class ConnectionLost(ProviderError):
    """The connection broke in the middle of the reply."""

    kind = "connection_lost"
    retryable_by_default = True


class StreamTruncated(ProviderError):
    """The body ended in good order, but without a stop reason."""

    kind = "truncated"
    retryable_by_default = True


class ServerReported(ProviderError):
    """The server reported an error inside the stream, or in a JSON body with status 200."""

    kind = "server_reported"


class ProtocolError(ProviderError):
    """What came can't be read: not an event stream, not JSON, or over the size limit."""

    kind = "protocol"


def _tree(root: type[ClawError]) -> Iterator[type[ClawError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)
