"""A second Ctrl-C raises KeyboardInterrupt wherever Python happens to be: file and conversation
must still tell the same."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator

import pytest

from claw.messages import Message, ToolCall, ToolResult
from claw.store import SessionStore, StoredSession
from tests.support.storing import run_calls

ROUNDS = 60
LONGEST_S = 4e-4


@pytest.fixture(autouse=True)
def alarms_interrupt() -> Iterator[None]:
    def interrupt(*unused: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def converse(session: StoredSession, number: int) -> None:
    """Every kind of step, some of them now and then."""
    call, result = ToolCall("call_0", "bash"), ToolResult("call_0", f"result {number}")
    session.close_open_calls()
    session.append(Message.user(f"prompt {number}"))
    session.append(Message.assistant(call))
    run_calls(session, result)
    session.append(Message.tool(result))
    if number % 5 == 4:
        session.rewind(len(session.messages) - 2)
    if number % 9 == 8:
        session.compact([Message.user("all of it")], kept=0)
    if number % 11 == 10:
        session.clear()


def interrupted(session: StoredSession, number: int, after_s: float) -> bool:
    try:
        signal.setitimer(signal.ITIMER_REAL, after_s)
        converse(session, number)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


# A file that was opened when the interrupt came is dropped, and closed by its finaliser.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("sittings", [3, pytest.param(100, marks=pytest.mark.stress)])
def test_file_and_conversation_are_alike_after_an_interrupt(
    sittings: int, store: SessionStore
) -> None:
    chance, hits = random.Random(5), 0
    for _ in range(sittings):
        with store.new("/work", "m") as session:
            for number in range(ROUNDS):
                hits += interrupted(session, number, chance.uniform(1e-6, LONGEST_S))
                session.close_open_calls()
                session.save()
                found = store.load(str(session.id))
                assert found.session.messages == session.messages, number
                assert found.damage == 0
    assert hits >= sittings * ROUNDS // 10
