"""Conversations for session files: made by hand, or by a real engine with a scripted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from claw.approval import allow_all
from claw.cancel import CancelToken
from claw.engine import Engine
from claw.events import StreamEvent
from claw.messages import Message, ToolCall, ToolResult
from claw.providers import ModelRequest
from claw.providers.scripted import calls_turn, text_turn
from claw.reporter import Reporter
from claw.session import Session, orphan_results, unanswered_calls
from claw.store import SessionStore, StoredSession
from claw.tools.base import Tool, ToolContext

PARAMETERS = {"type": "object", "properties": {"n": {"type": "integer"}}}
CALLS = [("work", {"n": 1}), ("work", {"n": 2}), ("look", {"n": 3}), ("look", {"n": 4})]


class WorkingModel:
    """For each prompt two calls that change things and two that only look, then an answer."""

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        last = request.messages[-1]
        yield from text_turn("done") if last.role == "tool" else calls_turn(*CALLS, text="I will")


def answered(arguments: dict[str, int], context: ToolContext) -> str:
    return f"{context.call.name} {arguments['n']}: " + "a line of output\n" * 20


def working_engine(reporter: Reporter | None = None) -> Engine:
    return Engine(
        WorkingModel(),
        tools=[
            Tool("work", "works", PARAMETERS, answered),
            Tool("look", "looks", PARAMETERS, answered, read_only=True),
        ],
        approver=allow_all,
        reporter=reporter,
        max_steps=3,
    )


def worked(prompts: int) -> list[Message]:
    """The conversation that a working engine has after `prompts` runs with "prompt 0" and so on."""
    session, engine = Session(), working_engine()
    for number in range(prompts):
        engine.run(session, f"prompt {number}")
    return list(session.messages)


def check_whole(messages: Sequence[Message]) -> None:
    """Both invariants hold."""
    assert unanswered_calls(messages) == []
    assert orphan_results(messages) == []


def file_of(store: SessionStore, session_id: str) -> Path:
    return store.folder / f"{session_id}.jsonl"


def two_calls(store: SessionStore) -> StoredSession:
    """A session whose last message asks for two calls, c1 and c2."""
    session = store.new("/work", "m")
    session.append(Message.user("go"))
    session.append(Message.assistant(ToolCall("c1", "bash"), ToolCall("c2", "bash")))
    return session


def run_calls(session: Session, *results: ToolResult) -> None:
    """Each call starts and ends with its result."""
    for result in results:
        call = ToolCall(result.call_id, "bash")
        session.call_started(call)
        session.call_ended(call, result)
