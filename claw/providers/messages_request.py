"""A ModelRequest as the body of a Messages request.

As in chat_request.py each message is encoded once, and a request joins the bytes. What the server
is to cache is marked: the tools and rules in front, which never change, and how far the
conversation has come. The latter marks move; but for them the beginning of the body is the same
from turn to turn, byte by byte. See platform.claude.com, "Prompt caching".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from claw.messages import Block, Message, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall
from claw.providers.base import ModelRequest
from claw.providers.encoding import sendable_name, to_json
from claw.providers.messages_parts import REDACTED, THINKING
from claw.providers.output_limits import output_limit
from claw.providers.quirks import Quirks
from claw.tools.base import Tool

Params: TypeAlias = Mapping[str, Any]
Turn: TypeAlias = tuple[bytes, list[bytes]]
"""(the role as it is sent, the blocks of its messages)"""

CLAWS_OWN = ("messages", "max_tokens")  # the latter as _limits has it
LEAST_BUDGET = 1024  # tokens of thinking that the server takes
DIALECT = "messages"  # the key under which encoded messages are kept
CACHE = {"type": "ephemeral"}
CACHE_MARK = b',"cache_control":%s}' % to_json(CACHE)
NO_OUTPUT = "(no output)"  # an error without words is refused
NOT_IN_AN_ID = re.compile(r"[^a-zA-Z0-9_-]")  # ids of other makers have dots and colons


def encode_request(request: ModelRequest, model: str, params: Params, quirks: Quirks) -> bytes:
    """The whole body. `params` adds fields; what claw relies on can't be changed by them."""
    limit, params = _limits(request.max_tokens, model, params, quirks.output_limit)
    fields: dict[str, Any] = {"model": model, "max_tokens": limit}
    tools = [tool_schema(tool) for tool in request.tools] if quirks.tools else []
    if tools and not quirks.parallel_calls:
        fields["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
    fields |= {name: value for name, value in params.items() if name not in CLAWS_OWN}
    fields["stream"] = True
    if tools:
        fields["tools"] = tools
    if request.system:
        fields["system"] = [{"type": "text", "text": request.system, "cache_control": CACHE}]
    elif tools:  # the rules come after the tools, so a mark there is for both
        tools[-1]["cache_control"] = CACHE
    messages = b",".join(
        b'{"role":"%s","content":[%s]}' % (role, b",".join(blocks))
        for role, blocks in _marked(_turns(request.messages))
    )
    return b'%s,"messages":[%s]}' % (to_json(fields)[:-1], messages)


def tool_schema(tool: Tool) -> dict[str, Any]:
    """How a tool is offered to the model."""
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    }


def _limits(asked: int | None, model: str, params: Params, most: int) -> tuple[int, Params]:
    """The limit of the reply, and `params` with a thinking budget below it, as it has to be.

    A limit that was asked for holds, and so does `most`, the server's own (0: it isn't known): the
    budget becomes half of it, and where that is less than the server takes, there is no thinking.
    Without either there is room for both.
    """
    asked = params.get("max_tokens", asked)
    limit = asked or output_limit(model)
    thinking = params.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    if not isinstance(budget, int):
        budget = 0
    if asked is None and budget >= limit:
        limit += budget
    limit = min(limit, most or limit)
    if not isinstance(thinking, Mapping) or budget < limit:
        return limit, params
    if limit // 2 < LEAST_BUDGET:
        return limit, {name: value for name, value in params.items() if name != "thinking"}
    return limit, {**params, "thinking": {**thinking, "budget_tokens": limit // 2}}


def _turns(messages: Sequence[Message]) -> list[Turn]:
    """What stands together of one role is one turn, for some servers want the roles to alternate:
    results (a user's here) and the question after them, or the question of a cancelled turn."""
    turns: list[Turn] = []
    previous = b""
    for message in messages:
        encoding = message.encodings.get(DIALECT)
        if encoding is None:
            encoding = message.encodings[DIALECT] = b",".join(map(to_json, _blocks(message)))
        if not encoding:
            continue
        role = b"assistant" if message.role == "assistant" else b"user"
        if role == previous:
            turns[-1][1].append(encoding)
        else:
            turns.append((role, [encoding]))
        previous = role
    return turns


def _marked(turns: list[Turn]) -> list[Turn]:
    """The last turn is marked, and that with which the request before this one ended: the server
    looks for an earlier mark among the last 20 blocks only, and one reply may call 20 tools."""
    for place in (-1, -3):
        if len(turns) >= -place:
            blocks = turns[place][1]
            blocks[-1] = blocks[-1][:-1] + CACHE_MARK
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    """What is sent of a message, maybe nothing. Thinking at the end was cut off in mid-thought: it
    has no signature, and is refused."""
    blocks = [sent for block in message.blocks if (sent := _block(block)) is not None]
    while blocks and blocks[-1]["type"] in (THINKING, REDACTED):
        blocks.pop()
    return blocks


def _block(block: Block) -> dict[str, Any] | None:
    """None for what can't be sent: blank text, and thinking that is not as _thinking wants it."""
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text} if block.text.strip() else None
    if isinstance(block, ReasoningBlock):
        return _thinking(block)
    if isinstance(block, ToolCall):
        return {
            "type": "tool_use",
            "id": _id(block.id),
            "name": sendable_name(block.name),
            "input": {} if block.error is not None else block.arguments,
        }
    if isinstance(block, OpaqueBlock):
        return dict(block.data)
    result = {
        "type": "tool_result",
        "tool_use_id": _id(block.call_id),
        "content": block.content if block.content.strip() else NO_OUTPUT,
    }
    return result | {"is_error": True} if block.is_error else result


def _thinking(block: ReasoningBlock) -> dict[str, Any] | None:
    """Thinking with its signature, unchanged. Without one (a gateway left it out, the reasoning is
    of another dialect) the server refuses it, so it stays in the history alone."""
    kept = block.opaque if isinstance(block.opaque, Mapping) else {}
    if kept.get("type") != THINKING or not (signature := kept.get("signature")):
        return None
    return {"type": THINKING, "thinking": block.text, "signature": signature}


def _id(call_id: str) -> str:
    return NOT_IN_AN_ID.sub("_", call_id)
