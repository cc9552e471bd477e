"""Processes that are killed in the middle of a turn. Run by tests/store/test_kill.py:

    python -m tests.support.killed FOLDER ROUNDS SEED

Each round a process works on a session of its own and tells, after each step, how many messages
the session has; it is killed at a random instant. Prints for each round the last number that was
told and the session's id.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path

from claw.events import RunEvent
from claw.reporter import Reporter
from claw.session import Session
from claw.store import SessionStore
from tests.support.storing import working_engine

LONGEST_S = 0.1


class Telling(Reporter):
    """Tells how long the conversation is, with every event: as long it is on the disk, too."""

    def __init__(self, session: Session, pipe: int) -> None:
        self._session = session
        self._pipe = pipe

    def on_event(self, event: RunEvent) -> None:
        os.write(self._pipe, f"{len(self._session.messages)}\n".encode())


def work(folder: Path, pipe: int) -> None:
    """Runs for ever."""
    session = SessionStore(folder).new("/work", "m")
    os.write(pipe, f"{session.id}\n".encode())
    engine = working_engine(Telling(session, pipe))
    for number in itertools.count():
        engine.run(session, f"prompt {number}")


def kill_one(folder: Path, after_s: float) -> tuple[str, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            work(folder, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as told:
        session_id = told.readline().decode().strip()
        threading.Event().wait(after_s)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        lines = told.read().splitlines()
    return session_id, int(lines[-1]) if lines else 0


def main(folder: Path, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    working_engine().run(Session(), "so that everything is imported")
    gc.freeze()
    found = [kill_one(folder, chance.uniform(0, LONGEST_S)) for _ in range(rounds)]
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
