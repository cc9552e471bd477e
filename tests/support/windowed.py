"""A model with a real limit: it counts what it is sent, refuses what is too long, and sums up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from claw.cancel import CancelToken
from claw.engine.summary import SYSTEM
from claw.errors import ClawError, ContextLengthError
from claw.events import Completed, Failed, StreamEvent, TextDelta
from claw.messages import Message, OpaqueBlock, ReasoningBlock, TextBlock, ToolCall, Usage
from claw.providers.base import ModelRequest
from claw.session import orphan_results, unanswered_calls

Script = Callable[[int], Message]


class WindowedModel:
    """Plays `script(n)` for its n-th answer.

    window: tokens. tokens: what it takes a text to have. names_limit: its refusal says how long a
    prompt may be. counts: it tells the usage. summary: what it writes when it is asked for one;
    an error to fail with. asked and summaries: the requests it answered, of either kind; `refused`
    counts those that were too long.
    """

    def __init__(
        self,
        window: int,
        script: Script,
        *,
        tokens: Callable[[str], int],
        names_limit: bool = True,
        counts: bool = True,
        summary: str | ClawError = "## Goal\nas before",
    ) -> None:
        self.window = window
        self.script = script
        self.tokens = tokens
        self.names_limit = names_limit
        self.counts = counts
        self.summary = summary
        self.asked: list[ModelRequest] = []
        self.summaries: list[ModelRequest] = []
        self.refused = 0
        self.summing_up = threading.Event()
        self.hold_summary = False

    def size_of(self, request: ModelRequest) -> int:
        texts = [request.system, *(f"{t.name}{t.description}{t.parameters}" for t in request.tools)]
        texts += [_text(message) for message in request.messages]
        return sum(self.tokens(text) for text in texts)

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        problems = unanswered_calls(request.messages) + orphan_results(request.messages)
        assert not problems, problems
        size = self.size_of(request)
        if size > self.window:
            self.refused += 1
            yield Failed(self._refusal(size))
            return
        if request.system == SYSTEM:
            yield from self._sum_up(request, cancel, size)
            return
        self.asked.append(request)
        yield self._completed(self.script(len(self.asked) - 1), size)

    def _sum_up(
        self, request: ModelRequest, cancel: CancelToken, size: int
    ) -> Iterator[StreamEvent]:
        self.summaries.append(request)
        if isinstance(self.summary, ClawError):
            yield Failed(self.summary)
            return
        yield TextDelta(self.summary[:5])
        self.summing_up.set()
        if self.hold_summary:
            cancel.wait()
            return
        yield TextDelta(self.summary[5:])
        yield self._completed(Message.assistant(TextBlock(self.summary)), size)

    def _completed(self, message: Message, size: int) -> Completed:
        usage = Usage(size, self.tokens(_text(message))) if self.counts else None
        return Completed(Message(message.role, message.blocks, message.stop_reason, usage=usage))

    def _refusal(self, size: int) -> ContextLengthError:
        limit = self.window if self.names_limit else None
        return ContextLengthError(
            f"the server answered 400: {size} tokens are too many",
            status=400,
            context_overflow=True,
            context_limit=limit,
        )


def _text(message: Message) -> str:
    told = []
    for block in message.blocks:
        if isinstance(block, ToolCall):
            told.append(f"{block.name}{block.arguments}")
        elif isinstance(block, (TextBlock, ReasoningBlock)):
            told.append(block.text)
        elif not isinstance(block, OpaqueBlock):
            told.append(block.content)
    return "".join(told)


def summary_inputs(model: WindowedModel) -> str:
    """All that the model was given to sum up."""
    return "\n".join(request.messages[0].text for request in model.summaries)


def only_grows(requests: Sequence[ModelRequest]) -> list[bool]:
    """For each request but the first: whether the one before is the beginning of it."""
    return [
        tuple(after.messages[: len(before.messages)]) == tuple(before.messages)
        for before, after in pairwise(requests)
    ]
