"""From the payloads of a Chat Completions reply to deltas and one Message.

The rules are those of tests/cases/README.md: only choice 0 counts, `null` and `""` are no finish
reason, usage is a total so far, and unknown keys and values of a wrong type are passed over.
"""

from __future__ import annotations

import json
from typing import Any

from claw.events import StreamEvent
from claw.messages import Message, Usage
from claw.providers.draft import Draft, ReasoningPart, TextPart, size_of
from claw.providers.fragments import mend
from claw.providers.openai_calls import ChatCalls
from claw.providers.openai_reasoning import join_details
from claw.providers.server_errors import read_error
from claw.providers.templates import Hole
from claw.providers.think_tags import ThinkTags
from claw.providers.usage import chat_usage

REASONING_FIELDS = ("reasoning_content", "reasoning")


class ChatAssembler:
    """The Assembler of Chat Completions, streamed or in one piece.

    tags: splits think tags off the text; None leaves them where they are.
    """

    ended = False  # `[DONE]` is no payload; the dialect has no end mark of its own
    padding = "obfuscation"  # OpenAI's own service: so that sizes on the wire tell nothing

    def __init__(self, tags: ThinkTags | None = None) -> None:
        self._tags = tags
        self._draft = Draft()
        self._text: TextPart | None = None
        self._reasoning: ReasoningPart | None = None
        self._calls = ChatCalls(self._draft)
        self._kept: dict[str, Any] = {}  # what goes back with the reasoning
        self._details: list[dict[str, Any]] = []
        self._usage: dict[str, Any] = {}

    @property
    def stop_word(self) -> str:
        return self._draft.stop_word

    @property
    def usage(self) -> Usage | None:
        return chat_usage(self._usage) if self._usage else None

    def fold(self, payload: dict[str, Any], deltas: list[StreamEvent]) -> int:
        """Takes one chunk, or a whole `chat.completion`. See Assembler."""
        size = 0
        if (choice := _choice_0(payload.get("choices"))) is not None:
            delta = choice.get("delta") or choice.get("message")
            if type(delta) is dict:
                size = self._fold_delta(delta, deltas)
            word = choice.get("finish_reason")
            if word:
                size += self._finish(word, choice)
            if self._draft.stop_word:
                self._settle(deltas)
        if "usage" in payload or "x_groq" in payload:
            size += self._take_usage(payload)
        if not self._draft.model and isinstance(model := payload.get("model"), str):
            self._draft.model = mend(model)
        return size

    def hole_in(self, payload: dict[str, Any]) -> Hole | None:
        """The text, reasoning or arguments of a chunk that says nothing else. See Assembler."""
        choice = _choice_0(payload.get("choices")) or {}
        delta = choice.get("delta")
        if type(delta) is not dict or choice.get("finish_reason"):
            return None
        said = [key for key, value in delta.items() if value and key != "role"]
        if said == ["tool_calls"]:
            return self._calls.hole_in(delta["tool_calls"])
        if len(said) != 1 or type(delta[said[0]]) is not str:
            return None
        if said == ["content"]:
            take = self._take_text if self._tags else self._text_part().add
            return Hole(delta, "content", take)
        if said[0] in REASONING_FIELDS:
            return Hole(delta, said[0], self._reasoning_part().add)
        return None

    def message(self) -> Message:
        """The whole reply."""
        self._draft.usage = self.usage
        if self._details:
            self._kept["reasoning_details"] = join_details(self._details)
        if self._kept:
            self._reasoning_part().opaque = self._kept
        return self._draft.message()

    def _fold_delta(self, delta: dict[str, Any], deltas: list[StreamEvent]) -> int:
        content = delta.get("content")
        if len(delta) == 1 and content:  # text alone, by far the most frequent
            return self._fold_content(content, deltas)
        calls = delta.get("tool_calls")
        if len(delta) == 1 and calls:  # next to it, a piece of a call alone
            return self._fold_calls(calls, deltas)
        size = self._fold_reasoning(delta, deltas)
        if content:
            size += self._fold_content(content, deltas)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._draft.refused = True
            size += self._text_part().add(refusal, deltas)
        if calls:
            size += self._fold_calls(calls, deltas)
        if isinstance(call := delta.get("function_call"), dict):  # the old form: one call, no id
            size += self._calls.fold({"function": call}, deltas)
        return size

    def _fold_content(self, content: Any, deltas: list[StreamEvent]) -> int:
        if isinstance(content, str):
            return self._take_text(content, deltas)
        size = 0
        for part in _objects(content):
            if part.get("type") == "text" and isinstance(text := part.get("text"), str):
                size += self._take_text(text, deltas)
            elif part.get("type") == "thinking":  # Mistral
                for text in _thinking_texts(part.get("thinking")):
                    size += self._reasoning_part().add(text, deltas)
        return size

    def _take_text(self, text: str, deltas: list[StreamEvent]) -> int:
        """A piece of the text; with think tags some of it is thinking, and some waits."""
        if self._tags is None:
            return self._text_part().add(text, deltas)
        self._add(self._tags.feed(text), deltas)
        return size_of(text)

    def _add(self, split: tuple[str, str], deltas: list[StreamEvent]) -> None:
        thinking, answer = split
        if thinking:
            self._reasoning_part().add(thinking, deltas)
        if answer:
            self._text_part().add(answer, deltas)

    def _settle(self, deltas: list[StreamEvent]) -> None:
        """After the finish reason nothing waits any more, neither half a tag nor half a letter."""
        if self._tags is not None:
            self._add(self._tags.flush(), deltas)
        self._draft.settle(deltas)

    def _fold_calls(self, calls: Any, deltas: list[StreamEvent]) -> int:
        size = 0
        for piece in _objects(calls):
            size += self._calls.fold(piece, deltas)
        return size

    def _fold_reasoning(self, delta: dict[str, Any], deltas: list[StreamEvent]) -> int:
        size = 0
        said = ""
        for field in REASONING_FIELDS:
            text = delta.get(field)
            if isinstance(text, str) and text and text != said:  # some send it in both
                said = text
                self._kept.setdefault("field", field)
                size += self._reasoning_part().add(text, deltas)
        for detail in _objects(delta.get("reasoning_details")):
            self._reasoning_part()
            self._details.append(detail)
            size += size_of(json.dumps(detail))
        if extra := delta.get("extra_content"):
            self._kept["extra_content"] = extra
            size += 1
        return size

    def _finish(self, word: Any, choice: dict[str, Any]) -> int:
        if not isinstance(word, str) or not word.strip():
            return 0
        if error := choice.get("error"):  # OpenRouter: why the generation failed
            raise read_error(error).to_error()
        self._draft.end(word.strip())
        return 1

    def _take_usage(self, payload: dict[str, Any]) -> int:
        usage = payload.get("usage")
        if not usage and isinstance(groq := payload.get("x_groq"), dict):
            usage = groq.get("usage")
        if not isinstance(usage, dict) or not usage or usage == self._usage:
            return 0
        self._usage = usage
        return 1

    def _text_part(self) -> TextPart:
        if self._text is None:
            self._text = TextPart()
            self._draft.parts.append(self._text)
        return self._text

    def _reasoning_part(self) -> ReasoningPart:
        if self._reasoning is None:
            self._reasoning = ReasoningPart()
            self._draft.parts.append(self._reasoning)
        return self._reasoning


def _choice_0(choices: Any) -> dict[str, Any] | None:
    """Choice 0; one without an index counts by its place."""
    if type(choices) is not list:
        return None
    for place, choice in enumerate(choices):
        if type(choice) is not dict:
            continue
        index = choice.get("index")
        if (index if type(index) is int else place) == 0:
            return choice
    return None


def _thinking_texts(thinking: Any) -> list[str]:
    if isinstance(thinking, str):
        return [thinking]
    texts = [part.get("text") for part in _objects(thinking)]
    return [text for text in texts if isinstance(text, str)]


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; nothing of any other value."""
    return [item for item in value if type(item) is dict] if type(value) is list else []
