"""Job: a command in the background, what it says, and how it ends."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from threading import Lock, Thread
from typing import TYPE_CHECKING

from claw.cancel import CancelToken
from claw.tools.outcome import ending
from claw.tools.output import OutputKeeper
from claw.tools.whole_output import WholeOutput

if TYPE_CHECKING:
    from claw.tools.process import Child, ProcessResult

ON_REQUEST = "ended"


class JobOutput:
    """All that a job has said in a file, and head and tail of what nobody has read yet.

    `feed` and `close` are for the job's thread and wait for nobody; `take` is for any.
    """

    def __init__(self, whole: WholeOutput | None) -> None:
        self.path = "" if whole is None else str(whole.path)
        self._whole = whole
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unread = OutputKeeper()
        self._lock = Lock()

    def feed(self, data: bytes) -> None:
        self._keep(self._decoder.decode(data))

    def close(self) -> None:
        """No more will come."""
        self._keep(self._decoder.decode(b"", final=True))
        if self._whole is not None:
            self._whole.close()

    def take(self) -> str:
        """What has come since the last time."""
        with self._lock:
            unread, self._unread = self._unread, OutputKeeper()
        return unread.text(self._whole)

    def _keep(self, text: str) -> None:
        """Whole characters only, so that a `take` between two pieces can't cut one."""
        data = text.encode()
        if self._whole is not None:
            self._whole.write(data)
        with self._lock:
            self._unread.add(data)


class Job:
    """A command that runs beside the conversation, followed by its own thread, `claw-job`.

    Every method is for any thread. The cancel of the turn that started it doesn't end it.
    result: how it ended, None while it runs; once it is there, so is all of the output.
    told: the model knows how it ended. in_front: see Sandbox. on_end: called on its thread once
    nothing of it runs any more, or nothing that can be found; changes: the lines it gave.
    """

    def __init__(
        self,
        number: int,
        command: str,
        child: Child,
        output: JobOutput,
        timeout: float | None,
        in_front: str,
        on_end: Callable[[], list[str]],
    ) -> None:
        self.number = number
        self.command = command
        self.in_front = in_front
        self.output = output
        self.result: ProcessResult | None = None
        self.told = False
        self.changes: tuple[str, ...] = ()
        self._child = child
        self._timeout = timeout
        self._on_end = on_end
        self._unwanted = CancelToken()
        self._over = CancelToken()  # a token, because others can be woken by it
        self._thread = Thread(target=self._follow, name="claw-job", daemon=True)
        try:
            self._thread.start()
        except BaseException:  # the system has no thread left to give
            child.close()
            output.close()
            raise

    @property
    def pid(self) -> int:
        return self._child.pid

    def state(self, result: ProcessResult | None) -> str:
        """In words: how it is doing, where `result` is None, or how it ended."""
        if result is None:
            return f"running for {self._child.age_s:.1f} s"
        if result.stopped == ON_REQUEST:
            return f"ended after {result.duration_s:.1f} s with exit code {result.exit_code}"
        return ending(result, self._timeout)

    def end(self) -> None:
        """Begins to end it (TERM, a short grace, KILL, the sweep); `wait` for it."""
        self._unwanted.cancel(ON_REQUEST)

    def wait(self, cancel: CancelToken, seconds: float) -> None:
        """Until it has ended or the time is up. Raises Cancelled once `cancel` fires."""
        with cancel.child(timeout=seconds) as limit:
            detach = self._over.on_cancel(limit.cancel)
            limit.wait()
            detach()
        cancel.raise_if_cancelled()

    def join(self, seconds: float) -> None:
        """Until its thread has ended, too, or the time is up."""
        self._thread.join(seconds)

    def _follow(self) -> None:
        result = self._child.follow(self._unwanted, self._timeout, self.output.feed)
        self.output.close()
        try:
            self.changes = tuple(self._on_end())
        finally:
            self.result = result
            self._over.cancel("over")
