"""CancelToken: cancel from any thread, at any instant.

Why it holds no lock. `cancel()` may run on a thread that is already inside this very file: the
garbage collector finalises a dropped RunStream wherever it likes, between any two bytecodes. With
a plain Lock that is a deadlock. With a Condition over an RLock the wake-up can be lost: the
waiter looks at the flag, the collector runs `cancel` (which finds nobody asleep), then the waiter
goes to sleep for ever. So:

- the first cancel is decided by `dict.setdefault`, one atomic step that also makes it visible;
- a callback is taken by `dict.pop`, so it runs exactly once, whoever gets there first;
- a waiter takes its place in the ParkingLot, looks at the flag *again*, and only then sleeps:
  a cancel after the place was taken wakes it, a cancel before is seen.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from threading import TIMEOUT_MAX, Lock
from typing import Protocol

from claw.errors import Cancelled
from claw.log import log


class Place(Protocol):
    """A place in a ParkingLot; `acquire` sleeps until it is woken or the timeout passes."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...


class ParkingLot:
    """Where threads sleep until somebody wakes them. Each step is one atomic deque operation."""

    def __init__(self) -> None:
        self._places: deque[Place] = deque()

    def take_place(self) -> Place:
        """Before the sleeper's last look at what it waits for."""
        place = Lock()
        place.acquire()
        self._places.append(place)
        return place

    def leave(self, place: Place) -> None:
        """For a sleeper that was not woken."""
        with suppress(ValueError):  # whoever woke it has taken it out
            self._places.remove(place)

    def wake_all(self) -> None:
        places = self._places
        while places:  # as a rule nobody sleeps, so this is all that a send pays
            try:
                place = places.popleft()
            except IndexError:
                return  # another waker was faster
            place.release()


class CancelToken:
    """One run's right to go on. Passed first, never ambient; every method is for any thread.

    timeout: seconds from now until the token counts as cancelled, with the reason "deadline".
    No thread watches the clock: whoever waits bounds its wait by `remaining()`, and whoever sees
    the deadline pass cancels. A child is cancelled with its parent, never the other way round.
    """

    def __init__(self, *, timeout: float | None = None, parent: CancelToken | None = None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        self._claim: dict[None, tuple[str]] = {}
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._keys = count()
        self._sleepers = ParkingLot()
        self._detach_from_parent: Callable[[], None] = _nothing
        if parent is not None:
            ends = [end for end in (deadline, parent.deadline) if end is not None]
            deadline = min(ends, default=None)
        self.deadline: float | None = deadline
        if parent is not None:
            self._detach_from_parent = parent.on_cancel(lambda: self.cancel(parent.reason or ""))

    def cancel(self, reason: str = "cancelled") -> bool:
        """Cancels, then runs the callbacks on this thread. True for the first caller alone.

        A later caller runs what is left, should the first have been broken off in the middle (by
        a KeyboardInterrupt).
        """
        claim = (reason,)
        won = self._claim.setdefault(None, claim) is claim
        self._sleepers.wake_all()
        for key in list(self._callbacks):
            self._run(key)
        return won

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled. Whoever sees the deadline pass here cancels, callbacks and
        all, on his thread."""
        if self._claim:
            return True
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self.cancel("deadline")
            return True
        return False

    @property
    def reason(self) -> str | None:
        """The first caller's word: interrupt, deadline, or its own; None while not cancelled."""
        claim = self._claim.get(None)
        return None if claim is None else claim[0]

    def remaining(self) -> float | None:
        """Seconds to the deadline, 0 once it has passed, None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Registers `callback` and returns the function that takes it back.

        Contract: it is called at most once (taking it back doesn't wait for a call that is under
        way), on the thread that cancels (here and now if that has
        happened), with no lock of the token held. It must not block. What it raises is logged.
        """
        key = next(self._keys)
        self._callbacks[key] = callback
        if self._claim:
            self._run(key)
        return lambda: void(self._callbacks.pop(key, None))

    def wait(self, timeout: float | None = None) -> bool:
        """Sleeps until the token is cancelled (True) or `timeout` seconds have passed (False)."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self.cancelled:
            if end is not None and time.monotonic() >= end:
                return False
            place, woken = self._sleepers.take_place(), False
            try:
                if not self._claim:
                    woken = place.acquire(timeout=shortest_wait(end, self.deadline))
            finally:
                if not woken:
                    self._sleepers.leave(place)
        return True

    def raise_if_cancelled(self) -> None:
        if self.cancelled:
            raise Cancelled(reason=self.reason or "cancelled")

    def child(self, timeout: float | None = None) -> CancelToken:
        """A token that ends with this one; as a context manager it detaches itself at the end."""
        return CancelToken(timeout=timeout, parent=self)

    def detach(self) -> None:
        """Takes a child out of its parent's callbacks; it can still be cancelled by itself."""
        self._detach_from_parent()

    def __enter__(self) -> CancelToken:
        return self

    def __exit__(self, *unused: object) -> None:
        self.detach()

    def _run(self, key: int) -> None:
        callback = self._callbacks.pop(key, None)
        if callback is None:
            return  # taken back, or run by another thread
        try:
            callback()
        except Exception:
            log().exception("a cancel callback failed")


def shortest_wait(*ends: float | None) -> float:
    """Seconds until the earliest of some monotonic instants, as `Lock.acquire` takes them."""
    known = [end for end in ends if end is not None]
    return min(max(0.0, min(known) - time.monotonic()), TIMEOUT_MAX) if known else -1


def void(_: object) -> None:
    """Drops a value, for callbacks that return nothing."""


def _nothing() -> None:
    pass
