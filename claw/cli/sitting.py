"""Sitting: what one stay in the REPL has at hand, for the loop and its slash commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from claw.cancel import CancelToken
from claw.cli.ask import Asker
from claw.cli.workbench import Workbench
from claw.engine import Engine
from claw.events import RunResult
from claw.session import Session

Work: TypeAlias = Callable[[CancelToken], RunResult]
"""What a turn does; a cancel of the token ends it."""


@dataclass
class Sitting:
    """What the commands look at and change.

    prompt, work, given_back: what a command leaves for the loop: words for the model, other work
    that is done as a turn, words that go into the next prompt. asked: the prompts of this sitting
    that are in the session, each with the number of its turn in the undo log.
    """

    bench: Workbench
    engine: Engine
    say: Callable[[str], None]
    asker: Asker
    over: bool = False
    prompt: str = ""
    work: Work | None = None
    given_back: str = ""
    asked: list[tuple[int, str]] = field(default_factory=list)

    @property
    def planning(self) -> bool:
        return self.asker.settings.planning

    def go_on_with(self, session: Session) -> None:
        """Another session takes the place of this one, which is closed."""
        before, self.bench = self.bench.session, self.bench.with_session(session)
        self.asked.clear()
        for line in (*before.take_notices(), *session.take_notices()):
            self.say(line)
