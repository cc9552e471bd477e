"""Tapes: runs recorded as they happen, and played again with no server and no tool.

with Recorder(Path("run.tape")) as recorder:
    recorder.run(engine, session, "Fix the test")

replay(read_tape(Path("run.tape"))).difference  # "" where all came out as it did then
"""

from __future__ import annotations

from claw.tape.answers import tape_tools
from claw.tape.provider import TapeProvider
from claw.tape.reader import read_tape
from claw.tape.recorder import Recorder
from claw.tape.replay import Verdict, replay
from claw.tape.tape import Tape

__all__ = ["Recorder", "Tape", "TapeProvider", "Verdict", "read_tape", "replay", "tape_tools"]
