"""AnthropicMessages: the Messages dialect, as Anthropic and the servers that follow it speak it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from claw.providers.base import ModelRequest
from claw.providers.http_provider import HTTPProvider
from claw.providers.messages_assembler import MessagesAssembler
from claw.providers.messages_request import encode_request

API_VERSION = "2023-06-01"  # the one that every server of this dialect knows


class AnthropicMessages(HTTPProvider):
    """A model behind `base_url` + /messages; the options are HTTPProvider's.

    /v1 is put in first where the path of `base_url` doesn't end in it, so that the URLs that are
    in use for this dialect (https://api.anthropic.com) can be given as they are.
    """

    dialect = "anthropic"

    def url_for(self, base_url: str) -> str:
        versioned = urlsplit(base_url).path.endswith("/v1")
        return f"{base_url}/messages" if versioned else f"{base_url}/v1/messages"

    def headers_for(self, key: str | None) -> Mapping[str, str]:
        return {"anthropic-version": API_VERSION} | ({"x-api-key": key} if key else {})

    def body_for(self, request: ModelRequest) -> bytes:
        return encode_request(request, self.model, self.params, self.quirks)

    def new_assembler(self) -> MessagesAssembler:
        return MessagesAssembler()
