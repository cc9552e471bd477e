"""Engine: asks the model, streams the reply, runs the tools, until the model answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path

from claw.approval import Approver, deny_all
from claw.cancel import CancelToken
from claw.engine.budget import Spending, check_budget
from claw.engine.calls import CallSetup, answer_calls
from claw.engine.environment import without_keys
from claw.engine.fitting import read_fitting_reply
from claw.engine.limits import is_paused, verdict
from claw.engine.run import Batch, Run
from claw.engine.stream import RunStream
from claw.events import Notice, RunResult, RunStarted, RunStatus, StepFinished, TextComplete
from claw.messages import Message
from claw.pricing import Budget, Price, PriceList
from claw.providers.base import ModelRequest, Provider, StreamingProvider
from claw.reporter import Reporter
from claw.session import Session
from claw.tools.base import Tool, ToolRegistry


class Engine:
    """A model, tools and rules, put together once. Holds no state of any run: many runs may go on
    at once, each on the thread that started it, each with its own Session and CancelToken.

    approver: asked about every call (claw.approval). on_repeat: asked for the third identical call
    in a row; None ends the run with LOOP. steering: what the user said meanwhile. max_steps: model
    replies a run may take. max_tokens: limit of one reply. buffer: events that may wait between
    the reader and the engine. env: what tools give to child processes (os.environ by default),
    always without the keys of model servers. Of one reply no more than 128 calls are run.
    price: what the model costs; without it a run tells tokens alone. budget: what a run may take;
    its replies are no longer than that pays for, and it ends with BUDGET where there is no room for
    one. charge_to: what its runs take counts there as well, and that budget holds too.
    context_window: the tokens that the model takes. At 80 % of them the conversation is compacted
    (compaction.py); with None only after the server refused it as too long. A refusal that names
    the number corrects it.

    Contract: approver, on_repeat and steering are called on the thread that called `run`, and may
    block; a cancel is heeded when they return. What they raise ends the run, and is raised by it;
    for the exceptions see Approver. What on_repeat allows, `approver` is asked about next: to go
    round once more may be right for a call that may not run.
    `steering` is called after each tool message; what it returns becomes user messages, in order.
    """

    def __init__(
        self,
        provider: Provider | StreamingProvider,
        *,
        tools: Iterable[Tool] = (),
        approver: Approver = deny_all,
        on_repeat: Approver | None = None,
        reporter: Reporter | None = None,
        system: str = "",
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        max_steps: int = 50,
        max_tokens: int | None = None,
        context_window: int | None = None,
        buffer: int = 16,
        steering: Callable[[], Sequence[str]] | None = None,
        price: Price | PriceList | None = None,
        budget: Budget | None = None,
        charge_to: Spending | None = None,
    ) -> None:
        self.provider = provider
        self.tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self.approver = approver
        self.on_repeat = on_repeat
        self.reporter = reporter
        self.system = system
        self.cwd = Path(cwd) if cwd is not None else None
        self.env = env
        self.max_steps = max_steps
        self.max_tokens = max_tokens
        self.context_window = context_window
        self.buffer = buffer
        self.steering = steering
        self.price = price
        self.budget = budget
        self.charge_to = charge_to
        check_budget(budget, price)

    def run(
        self,
        session: Session,
        prompt: str,
        *,
        cancel: CancelToken | None = None,
        reporter: Reporter | None = None,
    ) -> RunResult:
        """Runs one prompt to its end on this thread and tells `reporter` (else the engine's own).

        A cancel is a status of the result. A ProviderError is raised, after the reporter was told.
        HistoryError: the session is in another run.
        """
        chosen = self.reporter if reporter is None else reporter
        told = Reporter() if chosen is None else chosen
        return self.start(session, prompt, cancel, ticks=told.wants_ticks).push_to(told)

    def events(
        self, session: Session, prompt: str, *, cancel: CancelToken | None = None
    ) -> RunStream:
        """The same run as an iterator of RunEvents; the engine's reporter isn't told."""
        return self.start(session, prompt, cancel, ticks=False)

    def start(
        self, session: Session, prompt: str, cancel: CancelToken | None, *, ticks: bool
    ) -> RunStream:
        """A run that has yet to be driven. ticks: whether waiting is told, too."""
        run = self.new_run(session, cancel, ticks=ticks)
        return RunStream(run, self._loop(run, prompt))

    def new_run(self, session: Session, cancel: CancelToken | None, *, ticks: bool) -> Run:
        """The record of a run, with its budget untouched."""
        spending = Spending(self.budget, self.price, self.charge_to)
        return Run(session, cancel, ticks=ticks, spending=spending)

    def _loop(self, run: Run, prompt: str) -> Generator[Batch, None, RunStatus]:
        """The loop. Has no `finally`: it may be finalised on any thread; RunStream cleans up."""
        session, setup, before = run.session, self._call_setup(), None
        notices = [Notice(line) for line in session.mend()]
        session.append(Message.user(prompt))
        yield [RunStarted(prompt), *notices]
        while run.steps < self.max_steps:
            run.token.raise_if_cancelled()
            run.steps += 1
            message = yield from read_fitting_reply(run, self)
            run.add_reply(message)
            yield [*_text_complete(run, message), StepFinished(message.usage)]
            if message.tool_calls:
                end = yield from answer_calls(run, setup, message)
                if end is not None:
                    return end
            status = RunStatus.BUDGET if run.spending.cut else verdict(message, before)
            if status is not None:
                return status
            before = message
            for line in self.steering() if self.steering and message.tool_calls else ():
                session.append(Message.user(line))
        return RunStatus.MAX_STEPS

    def request_for(self, run: Run) -> ModelRequest:
        """The next request of `run`."""
        tools, messages = tuple(self.tools), run.session.messages
        return ModelRequest(messages, tools=tools, system=self.system, max_tokens=self.max_tokens)

    def _call_setup(self) -> CallSetup:
        return CallSetup(
            engine=self,
            tools=self.tools,
            approver=self.approver,
            on_repeat=self.on_repeat,
            cwd=self.cwd or Path.cwd(),
            env=without_keys(os.environ if self.env is None else self.env, self.provider),
        )


def _text_complete(run: Run, message: Message) -> list[TextComplete]:
    """Told once an answer is whole; one that was paused goes on in the next message."""
    return [TextComplete(run.answer)] if run.answer and not is_paused(message) else []
