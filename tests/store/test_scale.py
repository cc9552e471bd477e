"""Long sessions and many of them. CPU time is measured: the machine may have other work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from claw.events import RunResult, RunStatus
from claw.messages import Message, StopReason, TextBlock, ToolCall, ToolResult, Usage
from claw.store import Header, SessionStore
from claw.store.ids import LETTERS
from claw.store.records import encoded, message_record
from tests.support.storing import file_of

ROOT = Path(__file__).parents[2]
OUTPUT = "a line of a tool's output\n" * 220
ANSWER = "a word of the answer " * 50


def write_turns(store: SessionStore, turns: int) -> tuple[str, list[float]]:
    """A session of `turns` turns, 8 kB each; its id, and what each append took in seconds."""
    took = []
    with store.new("/work", "m") as session:

        def append(message: Message) -> None:
            start = time.perf_counter()
            session.append(message)
            took.append(time.perf_counter() - start)

        for number in range(turns):
            append(Message.user(f"do {number}"))
            call = ToolCall("call_0", "bash", {"command": f"ls {number}"})
            append(Message.assistant(TextBlock("I will look"), call))
            session.call_started(call)
            result = ToolResult(call.id, OUTPUT)
            session.call_ended(call, result)
            append(Message.tool(result))
            append(Message.assistant(TextBlock(ANSWER), stop_reason=StopReason.END_TURN))
            session.run_ended(RunResult(RunStatus.COMPLETED, usage=Usage(1, 1)))
    return str(session.id), sorted(took)


def check_turns(store: SessionStore, turns: int, load_s: float, append_s: float) -> None:
    session_id, took = write_turns(store, turns)
    assert took[int(len(took) * 0.99)] <= append_s
    start = time.process_time()
    with store.open(session_id) as session:
        assert time.process_time() - start <= load_s
        assert len(session.messages) == 4 * turns
        assert session.notices == []


def test_a_thousand_turns(store: SessionStore) -> None:
    check_turns(store, 1_000, load_s=1.5, append_s=0.005)


@pytest.mark.stress
def test_ten_thousand_turns(store: SessionStore) -> None:
    check_turns(store, 10_000, load_s=3, append_s=0.005)


MEASURE = """
import sys
from pathlib import Path
from claw.store import SessionStore
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))
store = SessionStore(Path(sys.argv[1]))
list(store.list())
before = peak()
replayed = store.load("2")
print(len(replayed.session.messages), peak() - before)
"""


@pytest.mark.stress
def test_a_file_of_500_mb_takes_memory_for_its_messages_alone(store: SessionStore) -> None:
    """5,000 messages of 100 kB; the conversation was cleared after each 50."""
    session_id = "20261130-124743-000000"
    store.folder.mkdir(parents=True)
    line = encoded(message_record(Message.user("x" * 100_000)))
    with open(file_of(store, session_id), "wb") as file:
        file.write(encoded(Header(session_id).to_record()))
        for _ in range(100):
            file.write(line * 50 + encoded({"type": "cleared"}))
        file.write(line)
    assert file_of(store, session_id).stat().st_size > 500_000_000
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, store.folder],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    messages, grown_mb = done.stdout.split()
    assert int(messages) == 1
    assert float(grown_mb) <= 20


def check_list(store: SessionStore, count: int, list_s: float) -> None:
    store.folder.mkdir(parents=True)
    message = encoded(message_record(Message.user("x" * 3_000)))
    for number in range(count):
        tail = "".join(LETTERS[number // 32**place % 32] for place in range(6))
        header = Header(f"20261130-124743-{tail}", f"/work/{number % 100}", "m", "", "a title")
        file_of(store, header.id).write_bytes(encoded(header.to_record()) + message)
    start = time.process_time()
    assert len(store.list()) == count
    assert time.process_time() - start <= list_s


def test_a_thousand_sessions_are_listed_at_once(store: SessionStore) -> None:
    check_list(store, 1_000, list_s=0.5)


@pytest.mark.stress
def test_ten_thousand_sessions_are_listed_in_a_second(store: SessionStore) -> None:
    check_list(store, 10_000, list_s=1)
