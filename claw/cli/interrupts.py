"""Ctrl-C, TERM, HUP and CONT: the file that installs signal handlers (`held_signals` does so for
the short time before).

What a Ctrl-C must do during a turn: the first ends the turn in good order, the second leaves it
at once, the third ends the process whatever state it is in. What fails:

- A handler that calls `token.cancel()`. A Python handler runs on the main thread, between any two
  bytecodes: also between a waiter's last look at the token and its going to sleep, and inside
  sections that a cancel callback enters. Wake-ups were lost, and there were deadlocks.
- A handler that raises at the first Ctrl-C. The exception lands anywhere, such as in the middle
  of an append to the history or in a lock's `__exit__`.
- A thread in `sigwait`. It needs the signals blocked in every thread, and children inherit that.
- No handler but KeyboardInterrupt's: a main thread stuck in C code never gets to raise it.

What doesn't: the C part of Python's signal handling writes each signal's number into a pipe
(`signal.set_wakeup_fd`), whatever the main thread does. The thread `claw-sigint` reads the pipe
and cancels from outside. The Python handler does nothing at the first Ctrl-C; the lock that the
main thread waits for is released by the cancel. At the second it raises KeyboardInterrupt, for a
run that doesn't end. The third is the watcher's again, because only it is sure to run.

Handler and watcher count separately. They run on two threads with no order between them, and two
Ctrl-C in quick succession may be one call of the handler but are always two bytes in the pipe.

Both are armed anew for each turn, with the turn's own token: a Ctrl-C of an earlier turn can't
reach this one, and prompt_toolkit's event loop leaves the wakeup descriptor at -1 after a prompt.

Between turns there is no token: Ctrl-C is Python's own KeyboardInterrupt, and TERM and HUP raise
SystemExit (`ended_by_signals`). There the watcher has another task: a signal that comes right
before the main thread goes to sleep in C code (the `select` of readline, behind the prompt) would
be handled at the next key only. To send the same one again could raise twice, and two Ctrl-C at
the prompt leave. So another, which nobody uses, wakes the thread until its handler has run; those
of all signals that came before have run then, too.

A signal that was ignored when we came (nohup, a background job) stays ignored.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread, get_ident
from types import FrameType
from typing import Any

from claw.cancel import CancelToken
from claw.cli.held_signals import caught_by

REASONS = {signal.SIGINT: "interrupt", signal.SIGTERM: "terminated", signal.SIGHUP: "hangup"}
ENDING = (signal.SIGTERM, signal.SIGHUP)
WATCHED = (*REASONS, signal.SIGCONT)
NUDGE = signal.SIGURG  # ignored by default, so it does no harm if it comes late
SECOND_TRY_S = 0.05
EXIT_CTRL_C = 128 + signal.SIGINT
EXIT_HANG_UP = 128 + signal.SIGHUP


@dataclass
class Ending:
    """What ended a turn: the signal that cancelled its token first, None if none did."""

    signal: signal.Signals | None = None

    @property
    def exit_code(self) -> int | None:
        """What a command that was ended so exits with: 130, 143, 129; None if no signal came."""
        return None if self.signal is None else 128 + self.signal


@contextmanager
def armed(
    cancel: CancelToken,
    *,
    last_resort: Callable[[], object] | None = None,
    resumed: Callable[[], object] | None = None,
) -> Iterator[Ending]:
    """For one turn, on the main thread: signals cancel `cancel`; a second Ctrl-C raises.

    The token's reason is then interrupt, terminated or hangup. last_resort: called at the third
    Ctrl-C, on the watcher's thread, right before the process is left: it restores the terminal
    and kills process groups, must not block, and what it raises is ignored. resumed: called on
    the watcher's thread when the process goes on after it was stopped (Ctrl-Z); must not raise.
    A signal that was held until now cancels at once.
    """
    ending, turn_over, heard, handled = Ending(), False, 0, 0

    def watch(number: signal.Signals) -> None:
        nonlocal heard
        if number is signal.SIGCONT:
            if resumed is not None:
                resumed()
            return
        ending.signal = ending.signal or number
        cancel.cancel(REASONS[number])
        heard += number is signal.SIGINT
        if heard == 3:
            with suppress(Exception):
                if last_resort is not None:
                    last_resort()
            os._exit(EXIT_CTRL_C)

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal handled
        handled += number == signal.SIGINT
        if number == signal.SIGINT and handled == 2 and not turn_over:
            raise KeyboardInterrupt

    with _watched(watch):
        previous = _install(dict.fromkeys(WATCHED, handle))
        try:
            if (early := caught_by(previous.values())) is not None:
                ending.signal = early
                cancel.cancel(REASONS[early])
            yield ending
        finally:
            # The handler raises once at most, so at most one of these steps is broken off.
            try:
                turn_over = True
            finally:
                _install(previous)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """For the time between turns, on the main thread: TERM and HUP leave as SystemExit(143 or 129).

    Every `finally` runs on the way. It is a SystemExit because an event loop, such as the one of
    prompt_toolkit, lets only that and KeyboardInterrupt through.
    """
    left, main, ending, awake = Event(), get_ident(), False, False

    def watch(number: signal.Signals) -> None:
        nonlocal awake
        awake = False
        while not awake:
            signal.pthread_kill(main, NUDGE)
            if left.wait(SECOND_TRY_S):
                break

    # No locks in handlers, not even those of an Event: one may interrupt another, or itself.
    def wake(number: int, frame: FrameType | None) -> None:
        nonlocal awake
        awake = True

    def leave(number: int, frame: FrameType | None) -> None:
        nonlocal ending
        if not ending:
            ending = True
            raise SystemExit(128 + number)

    with _watched(watch):
        previous = _install(dict.fromkeys(ENDING, leave) | {NUDGE: wake})
        try:
            yield
        finally:
            ending = True
            left.set()
            _install(previous)


@contextmanager
def _watched(heard: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Tells `heard` of the signals as they come, on the thread `claw-sigint`."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # set_wakeup_fd demands it
    watcher = Thread(target=_read, args=(reader, heard), name="claw-sigint", daemon=True)
    watcher.start()
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        os.close(writer)
        watcher.join()
        os.close(reader)


def _read(reader: int, heard: Callable[[signal.Signals], None]) -> None:
    """Until the pipe is closed. Other numbers come too: whatever has a Python handler."""
    while numbers := os.read(reader, 64):
        for number in numbers:
            if number in WATCHED:
                heard(signal.Signals(number))


def _install(handlers: Mapping[signal.Signals, Any]) -> dict[signal.Signals, Any]:
    """Installs handlers and returns those there were; an ignored signal stays as it is."""
    previous = {}
    for number, handler in handlers.items():
        there = signal.getsignal(number)
        if there is not signal.SIG_IGN:
            # None is a handler that wasn't installed by Python and can't be put back.
            previous[number] = signal.SIG_DFL if there is None else there
            signal.signal(number, handler)
    return previous
