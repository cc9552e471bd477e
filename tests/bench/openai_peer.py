"""The openai SDK as a peer: `create(stream=True)`. Runs in the environment that has it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import openai

from tests.bench.peer import OnText, main


class OpenAISDK:
    def text(self, base_url: str, on_text: OnText) -> str:
        pieces = []
        for delta in _deltas(_client(base_url), [_user("go")]):
            if delta.content:
                pieces.append(delta.content)
                on_text(delta.content)
        return "".join(pieces)

    def calls(self, base_url: str) -> Sequence[Mapping[str, Any]]:
        fragments: dict[int, list[str]] = {}
        for delta in _deltas(_client(base_url), [_user("go")]):
            for call in delta.tool_calls or ():
                if call.function and call.function.arguments:
                    fragments.setdefault(call.index, []).append(call.function.arguments)
        return [json.loads("".join(pieces)) for pieces in fragments.values()]

    def conversation(self, base_url: str, messages: int) -> Callable[[], str]:
        client = _client(base_url)
        roles = ("user", "assistant")
        history = [
            {"role": roles[number % 2], "content": f"message {number} " * 15}
            for number in range(messages)
        ]

        def ask() -> str:
            history.append(_user("and now?"))
            answer = "".join(delta.content or "" for delta in _deltas(client, history))
            history.append({"role": "assistant", "content": answer})
            return answer

        return ask


def _client(base_url: str) -> Any:
    return openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)


def _deltas(client: Any, messages: Sequence[Mapping[str, str]]) -> Iterable[Any]:
    options = {"include_usage": True}
    with client.chat.completions.create(
        model="bench-model", messages=messages, stream=True, stream_options=options
    ) as stream:
        for chunk in stream:
            if chunk.choices:
                yield chunk.choices[0].delta


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


if __name__ == "__main__":
    main(OpenAISDK())
