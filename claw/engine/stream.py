"""RunStream: drives one run, for `Engine.run` (push) and `Engine.events` (pull) alike.

Why the loop never cleans up after itself. A generator that is dropped in a reference cycle runs
its `finally` on whichever thread the garbage collector happens to run, and would then touch a
Session that another thread owns. So the loop has none, and the end of a run (open calls answered,
tool message appended, Session free) is brought about here, by the thread that iterates: at the
run's own end, on any exception, or in `close()`. The finaliser marks the run abandoned, which
frees the Session for a next run (that one repairs), and cancels, which frees the threads.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from threading import get_ident

from claw.engine.budget import BudgetSpent
from claw.engine.run import Batch, Run, Waiting
from claw.errors import Cancelled, ClawError
from claw.events import Notice, RunEvent, RunFinished, RunResult, RunStatus
from claw.reporter import Muting, Reporter

ENDED_EARLY = (RunStatus.CANCELLED, RunStatus.DEADLINE, RunStatus.ERROR)


class RunStream(Iterator[RunEvent]):
    """One run, as an iterator of RunEvents and a context manager.

    Iterate it on one thread; RunFinished comes last, then what the run failed with is raised (a
    ProviderError, or what the approver raised). Leaving the `with` block, or `close()`, ends the
    run: on the iterating thread it returns once the history is whole; on another thread, and from
    a callback of the run itself, it only cancels. `result` is None until the run is over.
    """

    def __init__(self, run: Run, loop: Generator[Batch, None, RunStatus]) -> None:
        self.result: RunResult | None = None
        self._run = run
        self._loop = loop
        self._inside = False
        self._ending = False
        self._thread = get_ident()
        self._error: Exception | None = None
        self._ready: Iterator[RunEvent] = iter(())

    def __next__(self) -> RunEvent:
        self._thread = get_ident()
        while True:
            for event in self._ready:
                return event
            if self.result is not None:
                raise self._error or StopIteration
            batch = self._next_batch()
            self._ready = iter(() if isinstance(batch, Waiting) else batch)

    def push_to(self, reporter: Reporter) -> RunResult:
        """Runs to the end and tells `reporter`; raises what the run failed with."""
        muting = Muting(reporter)
        try:
            while self.result is None:
                self._tell(muting, self._next_batch())
        except BaseException:
            self.close()
            raise
        if self._error is not None:
            raise self._error
        return self.result

    def batches(self) -> Iterator[Batch]:
        """The run as `push_to` tells it, for an engine that plays it within a run of its own.
        Raises in the end what the run failed with."""
        while self.result is None:
            self._thread = get_ident()
            yield self._next_batch()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Ends the run if it isn't over. From any thread; safe to call twice."""
        if self._ending:
            return
        self._run.token.cancel("closed")
        if get_ident() == self._thread and not self._inside:
            self._loop.close()
            self._end(RunStatus.CANCELLED)

    def __enter__(self) -> RunStream:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._run.finished:
            self._run.abandoned = True
            self._run.token.cancel("abandoned")

    def _next_batch(self) -> Batch:
        """The next events of the run. Once it is over, `result` is set and RunFinished is last."""
        token = self._run.token
        self._inside = True
        try:
            return next(self._loop)
        except StopIteration as stop:
            return self._end(stop.value)
        except BudgetSpent:
            self._run.steps = max(0, self._run.steps - 1)  # the last one never began
            return self._end(RunStatus.BUDGET)
        except Cancelled:
            expired = token.reason == "deadline"
            return self._end(RunStatus.DEADLINE if expired else RunStatus.CANCELLED)
        except ClawError as error:
            self._error = error
            return self._end(RunStatus.ERROR, error)
        except Exception as error:
            self._error = error
            return self._end(RunStatus.ERROR, ClawError(f"{type(error).__name__}: {error}"))
        except BaseException:
            token.cancel("interrupt")
            self._end(RunStatus.CANCELLED)
            raise
        finally:
            self._inside = False

    def _end(self, status: RunStatus, error: ClawError | None = None) -> list[RunEvent]:
        """Brings the run to its end, once. A second KeyboardInterrupt in here doesn't wait for
        tools any more: the session is free, and its next run repairs it."""
        self._ending = True
        try:
            untold = self._run.stop() if status in ENDED_EARLY else []
        finally:
            self.result = self._run.close(status, error)
        notices = [Notice(line) for line in self._run.notices]
        return [*untold, *notices, RunFinished(self.result)]

    def _tell(self, reporter: Reporter, batch: Batch) -> None:
        """A closed pipe (`| head`) ends the run, but other reporters are told to the end."""
        try:
            if isinstance(batch, Waiting):
                reporter.on_tick(batch.elapsed_s, batch.waiting_for)
                return
            for event in batch:
                try:
                    reporter.on_event(event)
                except BrokenPipeError:
                    self._run.token.cancel("broken pipe")
            reporter.flush()
        except BrokenPipeError:
            self._run.token.cancel("broken pipe")
