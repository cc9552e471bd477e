"""Real replies, cut at every byte: the same message or a named error, never half a call.

A reset breaks the connection in the middle of the body. A clean close ends a body in good order,
which nothing but the missing finish reason tells from a whole one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from claw import CancelToken
from claw.errors import ConnectionLost, ProviderError, StreamTruncated
from claw.events import Completed, Failed, TextDelta
from claw.messages import Message
from claw.providers import AnthropicMessages, ModelRequest, OpenAIChat
from tests.support.peer import STREAM, Peer, Request
from tests.support.server import serve
from tests.support.wire import http_chunk, http_head

FOLDER = Path(__file__).parents[1] / "captures"
CAPTURES = sorted(path for path in FOLDER.glob("*.sse") if "in-text" not in path.name)
PROVIDERS = {"openai": OpenAIChat, "anthropic": AnthropicMessages}
STEP = 1 if os.environ.get("CLAW_STRESS") else 16
REQUEST = ModelRequest([Message.user("Hi")])


def whole(body: bytes) -> bytes:
    return http_head(200, STREAM) + http_chunk(body) + b"0\r\n\r\n"


class Cutter:
    """Answers the first request with the whole body, each further one with a longer beginning.

    `length`: of the last beginning; None for the whole.
    """

    def __init__(self, body: bytes, how: str) -> None:
        self.length: int | None = None
        self._body = body
        self._how = how
        self._lengths = iter([None, *range(0, len(body) + 1, STEP)])

    def __call__(self, peer: Peer, request: Request) -> None:
        self.length = next(self._lengths)
        if self.length is None:
            peer.send(whole(self._body))
            return
        beginning = self._body[: self.length]
        if self._how == "reset":
            peer.send(http_head(200, STREAM) + (http_chunk(beginning) if beginning else b""))
            peer.reset()
        else:
            head = http_head(200, [("Content-Type", "text/event-stream"), ("Connection", "close")])
            peer.send(head + beginning)
            peer.sock.close()


def replies(capture: Path, how: str) -> Iterator[tuple[int | None, str, Message | ProviderError]]:
    """(bytes that were sent, the text of the deltas, the outcome), the whole reply first."""
    body = capture.read_bytes()
    cutter = Cutter(body, how)
    new = PROVIDERS[capture.name.partition("-")[0]]
    with (
        serve(cutter) as server,
        closing(new("m", base_url=server.url, max_retries=0, proxies={})) as provider,
    ):
        for _ in range(2 + len(body) // STEP):
            *deltas, last = provider.stream(REQUEST, CancelToken())
            text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
            assert isinstance(last, Completed | Failed)
            outcome = last.message if isinstance(last, Completed) else last.error
            assert isinstance(outcome, Message | ProviderError)
            yield cutter.length, text, outcome


@pytest.mark.parametrize("how", ["reset", "clean close"])
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.stem)
def test_a_reply_cut_at_any_byte_is_the_same_or_an_error(capture: Path, how: str) -> None:
    (_, text, message), *cut = replies(capture, how)
    assert isinstance(message, Message)
    assert message.tool_calls or "thinking" in capture.name
    fault = ConnectionLost if how == "reset" else StreamTruncated
    completed = [length for length, _, outcome in cut if isinstance(outcome, Message)]
    assert len(cut) > len(completed) > 0
    for length, shown, outcome in cut:
        assert text.startswith(shown)
        if isinstance(outcome, Message):  # only the usage comes after the finish reason
            assert replace(outcome, usage=None) == replace(message, usage=None)
        else:
            assert isinstance(outcome, fault), (length, outcome)
            assert length is not None
            assert length < completed[0]
