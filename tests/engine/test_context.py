"""How many tokens a request takes: the server's count, and the estimate beside known counts."""

from __future__ import annotations

import pytest

from claw.engine.context import (
    context_tokens,
    estimated_tokens,
    fixed_tokens,
    messages_tokens,
    text_tokens,
)
from claw.messages import Message, TextBlock, ToolCall, ToolResult, Usage
from claw.providers import ModelRequest
from claw.tools.base import tool

# (a text, its tokens with cl100k_base, with o200k_base)
KNOWN = {
    "prose": (
        "The conversation has to be replaced by a summary before it grows too long. Names of "
        "files, commands and error messages stay as they are, because the assistant goes on from "
        "this summary alone.",
        38,
        38,
    ),
    "code": (
        "def shortened(text: str, limit: int) -> str:\n    if len(text) <= limit:\n"
        "        return text\n    head, tail = limit // 2, limit - limit // 2\n"
        '    return f"{text[:head]}...{text[len(text) - tail :]}"\n',
        60,
        60,
    ),
    "json": (
        '{"id":17,"name":"item 17","price":21.25,"tags":["a","b"],"parent":{"id":4,"open":true}}',
        33,
        34,
    ),
    "log": (
        "2026-05-11 12:34:56.789 INFO worker-7 handled 10.0.0.12 in 153 ms\n"
        "2026-05-11 12:34:57.002 WARN worker-3 retried 10.0.0.9 after 1500 ms\n",
        66,
        66,
    ),
    "numbers": ("3141 5926 5358 9793 2384 6264 3383 2795 0288 4197 1693 9937", 35, 35),
    "chinese": (
        "我们需要在会话变得太长之前把它压缩成一份摘要，这样下一次请求才能放进模型的上下文窗口。",
        48,
        32,
    ),
    "japanese": ("会話が長くなりすぎる前に要約に置き換える必要があります。", 30, 22),
    "korean": ("대화가 너무 길어지기 전에 요약으로 바꾸어야 합니다.", 27, 18),
    "german": (
        "Das Gespräch muss durch eine Zusammenfassung ersetzt werden, bevor es zu lang wird.",
        22,
        16,
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_estimate_is_near_the_known_counts(name: str) -> None:
    text, older, newer = KNOWN[name]
    assert 0.8 * newer <= text_tokens(text) <= 1.5 * newer
    assert 0.8 * older <= text_tokens(text) <= 1.35 * older


def test_half_a_surrogate_pair_is_counted_too() -> None:
    assert text_tokens("a \ud800 b") > 0


def test_the_servers_count_is_taken_and_what_came_since_is_added() -> None:
    known = Message("assistant", (ToolCall("1", "look"),), usage=Usage(9_000, 100))
    since = Message.tool(ToolResult("1", "word " * 100))
    request = ModelRequest((Message.user("x" * 100_000), known, since), system="s" * 50_000)
    assert context_tokens(request) == 9_100 + messages_tokens([since])


def test_the_newest_count_holds() -> None:
    replies = [
        Message("assistant", (TextBlock("a"),), usage=Usage(tokens, 1)) for tokens in (100, 200)
    ]
    request = ModelRequest((Message.user("q"), replies[0], Message.user("q"), replies[1]))
    assert context_tokens(request) == 201


def test_without_a_count_all_of_it_is_estimated() -> None:
    @tool
    def look(path: str) -> str:
        """Looks at a file."""
        return path

    reply = Message("assistant", (TextBlock("fine"),), usage=Usage(0, 5))  # of a careless server
    request = ModelRequest((Message.user("hello"), reply), system="Be brief.", tools=(look,))
    assert context_tokens(request) == estimated_tokens(request)
    assert fixed_tokens(request) > text_tokens("Be brief.Looks at a file.")
    assert estimated_tokens(request) == fixed_tokens(request) + messages_tokens(request.messages)


def test_every_block_counts() -> None:
    words = "many words of it " * 20
    calls = [ToolCall("1", "write", {"content": words}), ToolCall("1", "w", error="no", raw=words)]
    for block in (TextBlock(words), *calls, ToolResult("1", words)):
        assert messages_tokens([Message("assistant", (block,))]) >= text_tokens(words)
