"""OpenAIChat: the Chat Completions dialect, as OpenAI and most other servers speak it."""

from __future__ import annotations

from collections.abc import Mapping

from claw.providers.base import ModelRequest
from claw.providers.chat_assembler import ChatAssembler
from claw.providers.chat_request import encode_request
from claw.providers.http_provider import HTTPProvider
from claw.providers.think_tags import ThinkTags


class OpenAIChat(HTTPProvider):
    """A model behind `base_url` + /chat/completions; the options are HTTPProvider's."""

    dialect = "openai"

    def url_for(self, base_url: str) -> str:
        return f"{base_url}/chat/completions"

    def headers_for(self, key: str | None) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body_for(self, request: ModelRequest) -> bytes:
        return encode_request(request, self.model, self.params, self.quirks)

    def new_assembler(self) -> ChatAssembler:
        quirks = self.quirks
        tags = ThinkTags(opened=quirks.think_tag_opened) if quirks.think_tags else None
        return ChatAssembler(tags)
