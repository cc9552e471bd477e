"""A reply as the bytes of a chat completions stream, cut where careless readers break.

Real networks cut anywhere. Here they cut on purpose: inside a UTF-8 sequence, between a backslash
and what it escapes, between CR and LF.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from claw.demo.script import Reply
from claw.values import frozen

MODEL = "scripted-demo"
FRAGMENT_CHARS = 7

THINKING_S = 0.8
WORD_S = 0.04
FRAGMENT_S = 0.02

# Behind the first byte of a UTF-8 sequence, a backslash, the CR of a line's end.
ODD_PLACES = re.compile(rb"(?<=[\xc0-\xff\\\r])")


@frozen
class Burst:
    """What is sent together: `pieces` are written one by one, after a pause of `pause` seconds."""

    pieces: Sequence[bytes]
    pause: float = 0.0


def bursts(reply: Reply, prompt_size: int, step: int) -> Iterator[Burst]:
    """The whole body of the response, in order.

    prompt_size: bytes of the request, from which the usage is estimated. step: makes ids unique.
    """
    yield _cut(": keep-alive")
    yield _event(_delta({"role": "assistant", "content": None}), THINKING_S)
    for number, word in enumerate(re.findall(r"\S+\s*", reply.text)):
        # Both spellings of JSON are on the wire: UTF-8 as it is, and \u escapes.
        yield _event(_delta({"content": word}), WORD_S, escaped=number % 2 == 1)
    yield from _calls(reply, step)
    yield _event(_delta({}, finish_reason="tool_calls" if reply.calls else "stop"))
    yield _event({"choices": [], "usage": _usage(reply, prompt_size)})
    yield _cut("data: [DONE]")


def _calls(reply: Reply, step: int) -> Iterator[Burst]:
    """All calls begin, then their arguments come in turns, a fragment of each."""
    arguments = []
    for index, call in enumerate(reply.calls):
        begin = {"index": index, "id": f"call_{step}_{index}", "type": "function"}
        yield _event(_tool_delta(begin | {"function": {"name": call.name, "arguments": ""}}))
        text = json.dumps(call.arguments, ensure_ascii=False)
        arguments.append(re.findall(rf"(?s).{{1,{FRAGMENT_CHARS}}}", text))
    for fragments in zip_longest(*arguments):
        for index, fragment in enumerate(fragments):
            if fragment is not None:
                delta = {"index": index, "function": {"arguments": fragment}}
                yield _event(_tool_delta(delta), FRAGMENT_S)


def _tool_delta(delta: Mapping[str, Any]) -> dict[str, Any]:
    return _delta({"tool_calls": [delta]})


def _delta(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def _usage(reply: Reply, prompt_size: int) -> dict[str, int]:
    """Four bytes are about a token; a script has no better count."""
    prompt, completion = prompt_size // 4, len(reply.text) // 4 + 20 * len(reply.calls)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _event(chunk: Mapping[str, Any], pause: float = 0.0, *, escaped: bool = False) -> Burst:
    whole = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "model": MODEL, **chunk}
    return _cut(f"data: {json.dumps(whole, ensure_ascii=escaped)}", pause)


def _cut(event: str, pause: float = 0.0) -> Burst:
    return Burst(ODD_PLACES.split(f"{event}\r\n\r\n".encode()), pause)
