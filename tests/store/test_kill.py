"""A process that dies at any instant loses the record it was writing, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from claw import Engine, RunStatus
from claw.messages import Message
from claw.providers import ScriptedProvider, text_turn
from claw.store import SessionStore
from tests.support.storing import check_whole, file_of, worked

ROOT = Path(__file__).parents[2]
ROUNDS = 20
MANY = 300


def killed(store: SessionStore, rounds: int) -> list[tuple[str, int]]:
    """(id, messages that were told of) of each session whose process was killed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killed", store.folder, str(rounds), "5"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return json.loads(done.stdout)


def check_killed(store: SessionStore, rounds: int) -> None:
    found = killed(store, rounds)
    assert len(found) == rounds
    longest = max(told for _, told in found)
    expected = worked(longest // 4 + 3)
    begun = [(each, told) for each, told in found if file_of(store, each).exists()]
    assert all(told == 0 for each, told in found if (each, told) not in begun)
    assert len(begun) >= rounds // 2
    for session_id, told in begun:
        check_goes_on(store, session_id, told, expected)


def check_goes_on(store: SessionStore, session_id: str, told: int, expected: list[Message]) -> None:
    with store.open(session_id) as session:
        found = list(session.messages)
        assert len(found) >= told
        whole = found[:-1] if found and found[-1].role == "tool" else found  # it may be made up
        assert whole == expected[: len(whole)]
        check_whole(found)
        result = Engine(ScriptedProvider(text_turn("yes"))).run(session, "still there?")
        assert result.status is RunStatus.COMPLETED
        check_whole(session.messages)
    with store.open(session_id) as again:
        assert again.messages == session.messages
        assert again.notices == []
    torn = 0
    for line in file_of(store, session_id).read_bytes().splitlines():
        try:
            json.loads(line)
        except ValueError:
            torn += 1
    assert torn <= 1


def test_killed_at_random_instants(store: SessionStore) -> None:
    check_killed(store, ROUNDS)


@pytest.mark.stress
def test_killed_very_often(store: SessionStore) -> None:
    check_killed(store, MANY)


def check_cuts(store: SessionStore, step: int) -> None:
    """The last record, of 4 kB, is cut at each of its bytes."""
    with store.new("/work", "m") as session:
        for text in ("one", "two", 'a\nb"é' * 500):
            session.append(Message.user(text))
    assert session.id is not None
    file = file_of(store, session.id)
    data = file.read_bytes()
    start = data.rstrip(b"\n").rindex(b"\n") + 1
    assert 3900 <= len(data) - start <= 4300
    for end in range(start, len(data) + 1, step):
        file.write_bytes(data[:end])
        with store.open(session.id) as cut:
            kept = 3 if end >= len(data) - 1 else 2  # the record is whole without its line's end
            assert cut.messages == session.messages[:kept], end
            assert len(cut.notices) == (1 if start < end < len(data) - 1 else 0), end
            cut.append(Message.user("next"))
        with store.open(session.id) as again:
            assert again.messages == (*session.messages[:kept], Message.user("next"))
            assert again.notices == []


def test_a_record_cut_at_many_of_its_bytes(store: SessionStore) -> None:
    check_cuts(store, 16)


@pytest.mark.stress
def test_a_record_cut_at_each_of_its_bytes(store: SessionStore) -> None:
    check_cuts(store, 1)
