"""Lines to a server: one URL and one dialect each, found by trying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from urllib.parse import urlsplit

from claw.cancel import CancelToken
from claw.errors import HTTPStatusError, ServerReported
from claw.providers.anthropic import AnthropicMessages
from claw.providers.base import ModelRequest
from claw.providers.endpoint import checked_base_url
from claw.providers.http_provider import HTTPProvider
from claw.providers.masking import hidden, masked, secrets_of
from claw.providers.model_list import POSTING_PATHS
from claw.providers.openai_chat import OpenAIChat
from claw.providers.payloads import Payload
from claw.providers.presets import Dialect
from claw.providers.probe import chat_wire, messages_wire
from claw.providers.probe.recording import Answer, ask
from claw.providers.probe.trouble import is_page
from claw.providers.quirks import NO_QUIRKS, Quirks
from claw.providers.transport import Transport
from claw.values import frozen

SHARE = 0.5  # of the time that is left, which one question may take
LEAST_S, MOST_S = 5.0, 60.0  # for one question
CONNECT_S = 5.0
NO_MODEL = "none"

PROVIDERS: dict[Dialect, type[HTTPProvider]] = {
    "openai": OpenAIChat,
    "anthropic": AnthropicMessages,
}
# As config.toml calls it, and as its maker does.
NAMES: dict[Dialect, str] = {
    "openai": "openai (Chat Completions)",
    "anthropic": "anthropic (Messages)",
}
SPEAKS: dict[Dialect, Callable[[Payload], bool]] = {
    "openai": chat_wire.speaks,
    "anthropic": messages_wire.speaks,
}
"""Whether a payload is of the dialect."""

NOTHING, REFUSED, BEGUN, WHOLE = range(4)  # of a reply in the line's dialect
NOT_THE_ADDRESS = frozenset({301, 302, 307, 308, 401, 403, 405, 501})


@frozen
class Target:
    """What is to be probed. dialects: in the order in which they are tried."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    model: str = ""
    dialects: tuple[Dialect, ...] = ("openai", "anthropic")

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown, also where a server echoes it."""
        return secrets_of(self.api_key, {})

    def hide(self, text: str) -> str:
        """What a server sent, without the key."""
        return hidden(text, self.api_key)

    def provider(
        self, dialect: Dialect, base_url: str, model: str = "", quirks: Quirks = NO_QUIRKS
    ) -> HTTPProvider:
        """Making one does no I/O."""
        return PROVIDERS[dialect](
            model or self.model or NO_MODEL,
            base_url=base_url,
            api_key=self.api_key,
            connect_timeout=CONNECT_S,
            quirks=quirks,
        )


class Line:
    """Asks one server in one dialect, over one connection. For one thread."""

    def __init__(self, target: Target, dialect: Dialect, base_url: str, model: str) -> None:
        self.dialect = dialect
        self.base_url = base_url
        self.model = model
        self._target = target
        self._endpoint = target.provider(dialect, base_url, model).endpoint
        self._transport = Transport(self._endpoint)

    def ask(self, request: ModelRequest, quirks: Quirks, cancel: CancelToken) -> Answer:
        """One question, without retries. Raises Cancelled once `cancel` fired."""
        provider = self._target.provider(self.dialect, self.base_url, self.model, quirks)
        return self._post(provider, provider.body_for(request), cancel)

    def post(self, body: bytes, cancel: CancelToken) -> Answer:
        """The same with a body of the caller's own."""
        return self._post(self._target.provider(self.dialect, self.base_url), body, cancel)

    def rank(self, answer: Answer) -> int:
        """How sure an answer makes it that this is the dialect: WHOLE, BEGUN, REFUSED, NOTHING."""
        if answer.message is not None:
            return WHOLE
        if any(map(SPEAKS[self.dialect], answer.payloads)):
            return BEGUN
        error = answer.error
        if isinstance(error, ServerReported):
            return REFUSED
        if not isinstance(error, HTTPStatusError) or is_page(error):
            return NOTHING
        if error.status == 404:  # from the dialect's own address, or from none?
            return REFUSED if "model" in error.body else NOTHING
        return NOTHING if error.status in NOT_THE_ADDRESS else REFUSED

    def close(self) -> None:
        self._transport.close()

    def _post(self, provider: HTTPProvider, body: bytes, cancel: CancelToken) -> Answer:
        assembler = provider.new_assembler()
        timeout = _patience(cancel.remaining())
        answer = ask(self._transport, self._endpoint, body, assembler, cancel, timeout=timeout)
        if answer.error is not None:
            answer = replace(answer, outcome=masked(answer.error, (), self._target.api_key))
        return replace(answer, hide=self._target.hide)


def _patience(left: float | None) -> float:
    """Seconds for the next question. Some are left after it, so that its answer still counts."""
    return MOST_S if left is None else max(left * SHARE, min(LEAST_S, left * 0.9))


def base_urls(given: str) -> list[str]:
    """The base URLs worth trying: as given, less what the dialect appends; its /v1; the host's.

    ConfigError where it is no URL.
    """
    base = checked_base_url(given)
    for path in (*POSTING_PATHS, "/models"):
        base = base.removesuffix(path)
    path = urlsplit(base).path
    last = path.rpartition("/")[2]
    if last[:1] == "v" and last[1:2].isdigit():
        return [base]
    top = base.removesuffix(path)
    return list(dict.fromkeys([base, f"{base}/v1", f"{top}/v1"]))
