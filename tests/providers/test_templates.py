"""Templates change the cost of a reply and nothing else: read with and without them, it's equal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.errors import ProviderError
from claw.events import StreamEvent
from claw.messages import Message
from claw.providers.chat_assembler import ChatAssembler
from claw.providers.reply import ReplyReader
from claw.providers.templates import Hole


class WithoutTemplates(ChatAssembler):
    """The same assembler, whose chunks are all parsed in full."""

    def hole_in(self, payload: dict[str, Any]) -> Hole | None:
        return None


class Counting(ChatAssembler):
    """Counts the chunks that were parsed in full."""

    parsed = 0

    def fold(self, payload: dict[str, Any], deltas: list[StreamEvent]) -> int:
        self.parsed += 1
        return super().fold(payload, deltas)


def read(assembler: ChatAssembler, chunks: list[str]) -> tuple[list[StreamEvent], object, int]:
    """(the deltas, the message or the error's words, what belonged to the reply)."""
    reader = ReplyReader(assembler)
    deltas: list[StreamEvent] = []
    outcome: Message | str
    try:
        for chunk in chunks:
            deltas += reader.feed(f"data: {chunk}\n\n".encode("utf-8", "surrogatepass"))
        outcome = reader.finish()
    except ProviderError as error:
        outcome = str(error)
    return deltas, outcome, reader.belonging


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "model": "m", "choices": [choice], **more}


words = st.text(max_size=12) | st.sampled_from(
    ['"', "\\", '","content":"x', "\ud83d", "\ude00", "\n", "content", '"}', "é", "[DONE]", ""]
)
fragments = st.builds(
    lambda index, text: {"tool_calls": [{"index": index, "function": {"arguments": text}}]},
    st.integers(0, 2),
    words,
)
openings = st.builds(
    lambda index, name: {
        "tool_calls": [{"index": index, "id": name, "type": "function", "function": {"name": "f"}}]
    },
    st.integers(0, 2),
    st.sampled_from(["a", "b", ""]),
)
texts = st.builds(lambda text: {"content": text}, words)
reasonings = st.builds(lambda text: {"reasoning_content": text, "content": None}, words)
mixed = st.builds(lambda a, b: {"content": a, "reasoning": b, "role": "assistant"}, words, words)
doubled = st.builds(lambda text: {"x": {"content": "same"}, "content": text}, words)
deltas = st.one_of(texts, texts, fragments, fragments, reasonings, openings, mixed, doubled)
chunks = st.one_of(
    st.builds(chunk, deltas),
    st.builds(chunk, deltas, st.sampled_from([None, None, "stop", "tool_calls"])),
    st.builds(lambda delta, pad: chunk(delta, obfuscation=pad), deltas, words),
    st.builds(lambda delta, pad: {"obfuscation": pad, **chunk(delta)}, deltas, words),
    st.builds(lambda delta, pad: chunk(delta, x={"obfuscation": pad}), deltas, words),
    st.builds(lambda delta: chunk(delta, obfuscation=17), deltas),
    st.builds(lambda delta: chunk(delta, usage={"prompt_tokens": 1}), deltas),
)
writers: list[Callable[[Any], str]] = [
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
]


def without_made_up_ids(outcome: object) -> str:
    """Ids that claw makes up differ from reading to reading."""
    return re.sub(r"'c[0-9a-f]{8}'", "'*'", repr(outcome))


@given(st.lists(chunks, max_size=30), st.sampled_from(writers))
def test_with_and_without_templates_a_reply_is_the_same(
    written: list[dict[str, Any]], writer: Callable[[Any], str]
) -> None:
    lines = [writer(each) for each in [*written, chunk({}, "stop")]]
    ours, plain = read(ChatAssembler(), lines), read(WithoutTemplates(), lines)
    assert without_made_up_ids(ours) == without_made_up_ids(plain)


@given(
    st.lists(st.tuples(words, words), min_size=3, max_size=10),
    st.sampled_from(
        [
            "",
            ',"obfuscation":"same"',
            ',"obfuscation":null',
            ',"choices":[]',
            ',"x":{"obfuscation":"same","content":"same"}',
            ',"error":"obfuscation"',
        ]
    ),
    st.sampled_from(writers),
)
def test_padding_is_seen_through_and_a_key_that_comes_twice_is_not_mistaken_for_it(
    pairs: list[tuple[str, str]], tail: str, writer: Callable[[Any], str]
) -> None:
    padded = [writer(chunk({"content": text}, obfuscation=pad)) for text, pad in pairs]
    lines = [*(line[:-1] + tail + "}" for line in padded), writer(chunk({}, "stop"))]
    assert read(ChatAssembler(), lines) == read(WithoutTemplates(), lines)


@given(st.text(alphabet='{}[]",:\\abc0 ', max_size=40), st.integers(1, 20))
def test_a_broken_chunk_after_good_ones_is_as_broken_as_ever(tail: str, cut: int) -> None:
    good = json.dumps(chunk({"content": "some text"}))
    broken = [good, good, good[:-cut] + tail, good]
    assert read(ChatAssembler(), broken) == read(WithoutTemplates(), broken)


@pytest.mark.parametrize(
    "like",
    [
        lambda n: {"content": f"piece {n}"},
        lambda n: {"role": "assistant", "content": f"piece {n}"},
        lambda n: {"reasoning_content": f"piece {n}"},
        lambda n: {"tool_calls": [{"index": n % 4, "function": {"arguments": f"{n}"}}]},
    ],
)
@pytest.mark.parametrize(
    "padding",
    [lambda n: {}, lambda n: {"obfuscation": "p" * (n % 7)}],
    ids=["plain", "padded"],
)
@pytest.mark.parametrize("writer", writers)
def test_chunks_that_are_alike_are_parsed_in_full_only_at_first(
    like: Callable[[int], dict[str, Any]],
    padding: Callable[[int], dict[str, Any]],
    writer: Callable[[Any], str],
) -> None:
    opening = [
        chunk({"tool_calls": [{"index": n, "id": f"call{n}", "function": {"name": "f"}}]})
        for n in range(4)
    ]
    assembler = Counting()
    alike = [chunk(like(n), **padding(n)) for n in range(200)]
    read(assembler, [writer(each) for each in [*opening, *alike]])
    assert assembler.parsed < 15


def test_chunks_whose_differences_are_unknown_are_not_learned_for_ever() -> None:
    padded = [chunk({"content": "x"}, unheard_of="p" * n) for n in range(300)]
    deltas, _, _ = read(ChatAssembler(), [json.dumps(each) for each in padded])
    assert len(deltas) == 300
