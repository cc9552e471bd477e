"""replay: a tape played through the real decoder, assembler and engine, and compared with itself.

No network, and no tool is run.
"""

from __future__ import annotations

from contextlib import closing, suppress

from claw.cancel import CancelToken
from claw.engine import Engine
from claw.errors import ClawError
from claw.events import RunResult
from claw.messages import Message
from claw.reporter import MemoryReporter, Reporter, Tee
from claw.session import Session
from claw.tape.answers import TapedAnswers, TapedCalls
from claw.tape.compare import difference
from claw.tape.provider import TapeProvider
from claw.tape.setup import tools_of
from claw.tape.tape import Tape, TapedRun
from claw.values import frozen


@frozen
class Verdict:
    """What came of it. difference: the first one, in words; "" where all was the same. cut: the
    tape doesn't hold all of a run that was played. results: of the runs, in order."""

    runs: int = 0
    events: int = 0
    cut: bool = False
    difference: str = ""
    results: tuple[RunResult, ...] = ()


class TapedSession(Session):
    """A session in memory under the name of the recorded one."""

    def __init__(self, run: TapedRun, history: tuple[Message, ...]) -> None:
        super().__init__(history)
        self.id = run.session


def replay(
    tape: Tape,
    *,
    original_timing: bool = False,
    reporter: Reporter | None = None,
    cancel: CancelToken | None = None,
) -> Verdict:
    """Plays all runs, up to the first that differs; `reporter` is told as it was told then.

    A run that the tape doesn't hold to its end is cancelled where the tape ends. Blocks; once
    `cancel` fired it ends with a difference that doesn't count.
    """
    verdict, left = Verdict(), dict[int, tuple[Message, ...]]()
    for run in tape.runs.values():
        session = TapedSession(run, left.get(run.after) or tuple(run.history))
        memory = MemoryReporter()
        with session:
            _play(tape, run, session, Tee(memory, reporter or Reporter()), cancel, original_timing)
        left[run.number] = session.messages
        verdict = Verdict(
            runs=verdict.runs + 1,
            events=verdict.events + len(run.events),
            cut=verdict.cut or not run.whole,
            difference=difference(run, memory.events, session.messages),
            results=(*verdict.results, *([memory.result] if memory.result else [])),
        )
        if verdict.difference:
            break
    return verdict


def _play(
    tape: Tape,
    run: TapedRun,
    session: Session,
    reporter: Reporter,
    cancel: CancelToken | None,
    original_timing: bool,
) -> None:
    setup, answers = run.setup, TapedAnswers(run)
    with closing(TapedCalls([run], original_timing=original_timing)) as calls:
        engine = Engine(
            TapeProvider(tape, run=run.number, original_timing=original_timing),
            tools=tools_of(setup.tools, calls.run),
            approver=answers.approver(),
            on_repeat=answers.approver(repeat=True) if setup.repeats else None,
            system=setup.system,
            env={},
            max_steps=setup.max_steps,
            max_tokens=setup.max_tokens,
            context_window=setup.context_window,
            steering=answers.steering if setup.steered else None,
            price=setup.prices,
            budget=setup.budget,
        )
        with suppress(ClawError):  # the reporter was told, and that is compared
            engine.run(session, run.prompt, cancel=cancel, reporter=reporter)
