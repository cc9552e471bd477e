"""A ModelRequest as the body of a Chat Completions request.

A long conversation is sent again with every turn. So each message is encoded once and the bytes
are kept with it (`Message.encodings`); a request joins them. That also keeps the beginning of
the body the same from turn to turn, byte by byte, which the servers' prompt caches live on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from claw.messages import Message, ReasoningBlock, ToolCall
from claw.providers.base import ModelRequest
from claw.providers.encoding import sendable_name, strict_json, to_json
from claw.providers.openai_reasoning import reasoning_keys
from claw.providers.quirks import Quirks
from claw.tools.base import Tool

Params = Mapping[str, Any]

CLAWS_OWN = ("model", "messages", "tools", "stream")  # can't be changed by params
LIMITS = ("max_tokens", "max_completion_tokens")  # the two names for that of the reply
PLACEHOLDER = "(no answer)"  # an assistant message without content is refused by most servers
USER_START = b'{"role":"user","content":"'
USER_BETWEEN = rb"\n\n"  # inside a JSON string
USER_END = b'"}'


def encode_request(request: ModelRequest, model: str, params: Params, quirks: Quirks) -> bytes:
    """The whole body. `params` adds fields; those in CLAWS_OWN can't be changed by them."""
    fields: dict[str, Any] = {"model": model}
    if quirks.stream_options:
        fields["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        fields[quirks.max_tokens_field] = request.max_tokens
    fields |= {name: value for name, value in params.items() if name not in CLAWS_OWN}
    for name in LIMITS if quirks.output_limit else ():
        if isinstance(asked := fields.get(name), int):
            fields[name] = min(asked, quirks.output_limit)
    fields["stream"] = True
    if request.tools and quirks.tools:
        fields["tools"] = [tool_schema(tool) for tool in request.tools]
        if not quirks.parallel_calls:
            fields["parallel_tool_calls"] = False
    head = [to_json({"role": "system", "content": request.system})] if request.system else []
    messages = b",".join([*head, *_encoded(request.messages, quirks)])
    return b'%s,"messages":[%s]}' % (to_json(fields)[:-1], messages)


def tool_schema(tool: Tool) -> dict[str, Any]:
    """How a tool is offered to the model."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def _encoded(messages: Sequence[Message], quirks: Quirks) -> Iterator[bytes]:
    """The messages in order, user messages that stand together as one (a cancelled turn leaves
    its question behind, and some servers want the roles to alternate)."""
    question: list[bytes] = []
    after_tools = False
    kind = ("chat", quirks.echo_extras, quirks.reasoning_field)  # all that a message depends on
    for message in messages:
        encoding = message.encodings.get(kind)
        if encoding is None:
            encoding = message.encodings[kind] = _encode(message, quirks)
        if message.role == "user":
            if after_tools and quirks.assistant_after_tools and not question:
                yield to_json({"role": "assistant", "content": PLACEHOLDER})
            question.append(encoding)
            continue
        if question:
            yield _joined(question)
            question = []
        after_tools = message.role == "tool"
        if encoding:
            yield encoding
    if question:
        yield _joined(question)


def _joined(question: list[bytes]) -> bytes:
    return USER_START + USER_BETWEEN.join(question) + USER_END


def _encode(message: Message, quirks: Quirks) -> bytes:
    """A message's JSON; of a user message only the inside of the string, so that it can be
    joined; several JSON objects with commas between them for a message with several results."""
    if message.role == "user":
        return to_json(message.text)[1:-1]
    if message.role == "tool":
        return b",".join(
            to_json({"role": "tool", "tool_call_id": result.call_id, "content": result.content})
            for result in message.tool_results
        )
    return to_json(_assistant(message, quirks))


def _assistant(message: Message, quirks: Quirks) -> dict[str, Any]:
    sent: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if calls := [_call(call, quirks) for call in message.tool_calls]:
        sent["tool_calls"] = calls
    elif not message.text:
        sent["content"] = PLACEHOLDER
    if quirks.echo_extras:
        if quirks.reasoning_field:
            sent[quirks.reasoning_field] = ""
        for block in message.blocks:
            if isinstance(block, ReasoningBlock):
                sent |= reasoning_keys(block, quirks.reasoning_field)
    return sent


def _call(call: ToolCall, quirks: Quirks) -> dict[str, Any]:
    """Unusable arguments go back as {}: cut JSON in a history makes some servers fail for ever."""
    arguments = "{}" if call.error is not None else strict_json(call.arguments, ensure_ascii=False)
    sent = {
        "id": call.id,
        "type": "function",
        "function": {"name": sendable_name(call.name), "arguments": arguments},
    }
    kept = call.opaque if quirks.echo_extras and isinstance(call.opaque, Mapping) else {}
    return {**kept, **sent}
