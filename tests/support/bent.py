"""A model server that bends the protocol in given ways, and is otherwise in good order.

    with serve(bent(refuses=("stream_options",))) as server: ...

It decides by the request alone: a question gets words, a question about files with tools offered
gets two calls of read_file, and results get words again. So a probe and a run can both use it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from tests.support.peer import Peer, Request
from tests.support.server import Behaviour
from tests.support.wire import DONE, chunk

Check: TypeAlias = Callable[[Mapping[str, Any]], str]
"""What is wrong with a request's body; "" if nothing is."""

PATHS = ("a.txt", "b.txt")
WORDS = "All is well."
MODELS = ("embed-1", "m1", "m2")


def call_delta(number: int, path: str) -> dict[str, Any]:
    """A whole call in one piece, as OpenAI sends it."""
    function = {"name": "read_file", "arguments": json.dumps({"path": path})}
    return {"index": number, "id": f"call_{number}", "type": "function", "function": function}


def call(number: int, path: str, **changes: Any) -> dict[str, Any]:
    """A delta with one call, changed; None takes a key out."""
    piece = {**call_delta(number, path), **changes}
    return {"tool_calls": [{name: value for name, value in piece.items() if value is not None}]}


def two(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The deltas of both calls, each with its changes."""
    return [call(0, PATHS[0], **first), call(1, PATHS[1], **second)]


def usual_calls() -> list[dict[str, Any]]:
    return two({}, {})


@dataclass(frozen=True)
class Bend:
    """How the server deviates. refuses: fields of the body that it answers with a 400. check:
    whatever else it minds. calls: the deltas that make up the calls. finish: their finish reason.
    said, before: deltas of an answer in words, and deltas in front of every reply."""

    path: str = "/v1"
    models: Sequence[str] | None = MODELS
    refuses: Sequence[str] = ()
    check: Check = lambda body: ""
    calls: Sequence[Mapping[str, Any]] = field(default_factory=usual_calls)
    finish: str | None = "tool_calls"
    said: Sequence[Mapping[str, Any]] = ({"content": "All is "}, {"content": "well."})
    before: Sequence[Mapping[str, Any]] = ()
    usage: bool = True
    done: bool = True
    keeps_limit: bool = True
    streams: bool = True
    key: str = ""


def bent(**how: Any) -> Behaviour:
    """The behaviour of a server that is bent so."""
    bend = Bend(**how)

    def behave(peer: Peer, request: Request) -> None:
        if bend.key and request.headers.get("authorization") != f"Bearer {bend.key}":
            peer.error(401, "wrong key")
        elif (request.method, request.path) == ("GET", f"{bend.path}/models") and bend.models:
            data = [{"id": name, "object": "model"} for name in bend.models]
            peer.answer(200, json.dumps({"object": "list", "data": data}))
        elif (request.method, request.path) == ("POST", f"{bend.path}/chat/completions"):
            _answer(bend, peer, request.body)
        else:
            peer.answer(404, "<html><title>Not Found</title></html>")

    return behave


def _answer(bend: Bend, peer: Peer, body: Mapping[str, Any]) -> None:
    refused = [name for name in bend.refuses if name in body]
    if not isinstance(body.get("messages"), list):
        peer.error(400, "messages must be a list")
    elif refused:
        peer.error(400, f"Unsupported parameter: '{refused[0]}'")
    elif fault := bend.check(body):
        peer.error(400, fault)
    else:
        _reply(bend, peer, body)


def _reply(bend: Bend, peer: Peer, body: Mapping[str, Any]) -> None:
    last = body["messages"][-1]
    asked = last["role"] == "user" and PATHS[0] in str(last["content"]) and body.get("tools")
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or 1000
    long = "Count" in str(last["content"])
    calls = bend.calls[:1] if body.get("parallel_tool_calls") is False else bend.calls
    deltas: Iterable[Mapping[str, Any]] = calls if asked else bend.said
    finish = bend.finish if asked else "stop"
    if long:
        words = min(limit, 200) if bend.keeps_limit else 200
        deltas = [{"content": "word, "}] * words
        finish = "length" if words < 200 else "stop"
    _send(bend, peer, [*bend.before, *deltas], finish)


def _send(bend: Bend, peer: Peer, deltas: Sequence[Mapping[str, Any]], finish: str | None) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": len(deltas)} if bend.usage else None
    if not bend.streams:
        message = {"role": "assistant", "content": WORDS}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        peer.answer(200, json.dumps({"choices": [choice], "usage": usage}))
        return
    peer.start_stream()
    for delta in deltas:
        peer.chunk(chunk(delta))
    peer.chunk(chunk({}, finish, usage))
    if bend.done:
        peer.chunk(DONE)
    peer.end_stream()


def wants_a_gap(body: Mapping[str, Any]) -> str:
    roles = [message["role"] for message in body["messages"]]
    after = [one for one, other in pairwise(roles) if other == "user"]
    return "a user message can't follow a tool's" if "tool" in after else ""


def wants_reasoning_back(body: Mapping[str, Any]) -> str:
    own = [m for m in body["messages"] if m["role"] == "assistant" and m.get("tool_calls")]
    missing = any("reasoning_content" not in message for message in own)
    return "the thinking must be passed back" if missing else ""


def knows_one_call(body: Mapping[str, Any]) -> str:
    many = any(len(message.get("tool_calls") or ()) > 1 for message in body["messages"])
    return "this template knows single calls only" if many else ""


def allows(tokens: int) -> Check:
    """No reply may be asked for with a limit above `tokens`."""

    def check(body: Mapping[str, Any]) -> str:
        asked = body.get("max_tokens", 0)
        words = f"max_tokens: {asked} > {tokens}, which is the maximum allowed for m1"
        return words if asked > tokens else ""

    return check


IN_TEXT = '```json\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n```'

# How a server is bent, and the quirks that suit it.
BENDS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "no stream_options": ({"refuses": ["stream_options"]}, {"stream_options": False}),
    "other limit": (
        {"refuses": ["max_tokens"]},
        {"max_tokens_field": "max_completion_tokens"},
    ),
    "both": (
        {"refuses": ["max_tokens", "stream_options"]},
        {"max_tokens_field": "max_completion_tokens", "stream_options": False},
    ),
    "short replies": ({"check": allows(512)}, {"output_limit": 512}),
    "no tools": ({"refuses": ["tools"]}, {"tools": False}),
    "gap": ({"check": wants_a_gap}, {"assistant_after_tools": True}),
    "reasoning back": (
        {"check": wants_reasoning_back, "before": [{"reasoning_content": "Hm."}]},
        {"echo_extras": True},
    ),
    "reasoning back, be it empty": (
        {"check": wants_reasoning_back},
        {"echo_extras": True, "reasoning_field": "reasoning_content"},
    ),
    "signatures": (
        {"calls": two({"extra_content": {"google": {"thought_signature": "s"}}}, {})},
        {"echo_extras": True},
    ),
    "one call": ({"check": knows_one_call}, {"parallel_calls": False}),
    "calls in text": (
        {"calls": [{"content": IN_TEXT}], "finish": "stop"},
        {"calls_in_text": True},
    ),
    "think tags": (
        {"said": [{"content": "<think>Hm.</think>"}, {"content": "Well."}]},
        {"think_tags": True},
    ),
    "half of the think tags": (
        {"said": [{"content": "Hm.\n</think>\n\n"}, {"content": "Well."}]},
        {"think_tags": True, "think_tag_opened": True},
    ),
}
