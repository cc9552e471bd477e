"""How many tokens a request takes. What the server counted is known; what was added since is
estimated from the classes of its characters. Pure functions, no I/O.

The error of the estimate, measured against two of OpenAI's tokenizers (cl100k and o200k): prose,
code, JSON and logs within 20 %, Chinese, Japanese and Korean from 15 % below to 40 % above. Random
letters (base64) have twice as many tokens as it says, file listings half as many again, Russian
half as many with the newer tokenizer. A request once counted by the server corrects it: see
compaction.py.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable

from claw.messages import Block, Message, OpaqueBlock, ToolCall, ToolResult
from claw.providers.base import ModelRequest

# Tokens for each byte of a class. Of a character that isn't ASCII only the first byte counts: it
# tells how many there are, and so roughly what script it is.
WEIGHTS: tuple[tuple[bytes, float], ...] = (
    (string.ascii_letters.encode(), 1 / 4),
    (string.digits.encode(), 0.6),
    (string.punctuation.encode(), 0.7),
    (b"\n", 0.5),
    (b" \t\r", 0.05),  # a blank belongs to the word behind it, and many are one token
    (bytes(range(0xC2, 0xE0)), 0.5),  # two bytes: accents, Greek, Cyrillic, Hebrew, Arabic
    (bytes(range(0xE0, 0xF0)), 1.0),  # three: Chinese, Japanese, Korean, Indic scripts
    (bytes(range(0xF0, 0xF5)), 2.0),  # four: emoji, rare characters
)
PER_MESSAGE = 4  # role and separators


def context_tokens(request: ModelRequest) -> int:
    """What the request's prompt takes: as the server counted it up to the last reply that came
    with a count, and an estimate of the rest."""
    for index in range(len(request.messages) - 1, -1, -1):
        usage = request.messages[index].usage
        if usage is not None and usage.input_tokens:
            since = messages_tokens(request.messages[index + 1 :])
            return usage.input_tokens + usage.output_tokens + since
    return estimated_tokens(request)


def estimated_tokens(request: ModelRequest) -> int:
    """What the request's prompt takes, all of it estimated."""
    return fixed_tokens(request) + messages_tokens(request.messages)


def fixed_tokens(request: ModelRequest) -> int:
    """The part in front of the conversation: the system prompt and the tools."""
    tools = (f"{t.name} {t.description} {_json(t.parameters)}" for t in request.tools)
    return text_tokens(request.system) + sum(text_tokens(tool) + PER_MESSAGE for tool in tools)


def messages_tokens(messages: Iterable[Message]) -> int:
    return sum(message_tokens(message) for message in messages)


def message_tokens(message: Message) -> int:
    return PER_MESSAGE + sum(text_tokens(_text(block)) for block in message.blocks)


def text_tokens(text: str) -> int:
    """An estimate; 6 ms for a million characters."""
    data = text.encode("utf-8", "replace")
    counts = ((len(data) - len(data.translate(None, kind)), weight) for kind, weight in WEIGHTS)
    return round(sum(count * weight for count, weight in counts))


def _text(block: Block) -> str:
    if isinstance(block, ToolCall):
        return f"{block.id} {block.name} {block.raw or _json(block.arguments)}"
    if isinstance(block, ToolResult):
        return f"{block.call_id} {block.content}"
    return _json(block.data) if isinstance(block, OpaqueBlock) else block.text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
