"""What a probe asks: short questions, each of which makes the server show one side of itself.

The tools have the names and the main arguments of claw's own, so that what is seen is what a run
will meet. None of them is ever run.
"""

from __future__ import annotations

import json
from dataclasses import replace

from claw.messages import Message, ToolCall, ToolResult
from claw.providers.base import ModelRequest
from claw.tools.base import Tool, ToolContext, ToolOutput

LIMIT = 16
ROOM = 600  # tokens: enough for a model that thinks before it answers

LONGEST_LIMITED = 400  # characters; LIMIT tokens never make as many


def _never_run(arguments: object, context: ToolContext) -> ToolOutput:
    raise AssertionError("a probe runs no tool")


def _tool(name: str, description: str, *parameters: str) -> Tool:
    schema = {
        "type": "object",
        "properties": {parameter: {"type": "string"} for parameter in parameters},
        "required": list(parameters),
    }
    return Tool(name, description, schema, _never_run)


TOOLS = (
    _tool("read_file", "Reads a text file.", "path"),
    _tool("edit_file", "Replaces a text in a file.", "path", "old_text", "new_text"),
    _tool("bash", "Runs a shell command.", "command"),
)
PATHS = ("a.txt", "b.txt")

PLAIN = ModelRequest(
    [Message.user("What is 17 + 25? Answer in one short sentence.")], max_tokens=ROOM
)
CALLS = ModelRequest(
    [
        Message.user(
            f"Read the files {PATHS[0]} and {PATHS[1]} with the tool read_file: "
            "both calls at once, and nothing else."
        )
    ],
    tools=TOOLS,
    max_tokens=ROOM,
)
LIMITED = ModelRequest(
    [Message.user("Count from 1 to 200, in words, separated by commas.")], max_tokens=LIMIT
)


def after_calls(reply: Message | None) -> ModelRequest:
    """CALLS, the model's calls (or calls as it should have made them), and their results."""
    if reply is None or not reply.tool_calls or any(call.error for call in reply.tool_calls):
        reply = Message.assistant(*map(_call, PATHS))
    results = [ToolResult(call.id, "a line of text") for call in reply.tool_calls]
    return replace(CALLS, messages=[*CALLS.messages, reply, Message.tool(*results)])


def after_one_call() -> ModelRequest:
    """The same with a single call."""
    return after_calls(Message.assistant(_call(PATHS[0])))


def after_a_user_message(answered: ModelRequest) -> ModelRequest:
    """The same with a user message right after the results, as a cancelled turn leaves it."""
    question = Message.user("Stop reading. Which files did you read? One short sentence.")
    return replace(answered, messages=[*answered.messages, question])


def broken_body(model: str) -> bytes:
    """A request that is none in either dialect: it shows how errors look, and costs nothing."""
    return json.dumps({"model": model, "max_tokens": LIMIT}).encode()


def _call(path: str) -> ToolCall:
    return ToolCall(f"call0{path.replace('.', '0')[:4]}", "read_file", {"path": path})
