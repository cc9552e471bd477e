"""Channel[T]: a bounded queue between threads that closes and can be cancelled, as in Go.

Three facts are kept apart. *Cancelled* beats everything: the receiver raises, the sender gets
False, what lies in the buffer is dropped. *Closed* is the sender's word that no more will come:
what lies there is still received. *Completed* is none of the channel's business.

Why not `queue.Queue` or a Condition. Both sleep holding a lock's promise: a KeyboardInterrupt
inside `Condition.wait()` was seen to release a lock that another thread held, and a cancel that
the garbage collector runs between the waiter's look at the flag and its going to sleep is lost
(see cancel.py). Here nobody sleeps inside a locked section: a thread takes its place in a
ParkingLot, looks once more, and sleeps with no lock held. The lock guards the buffer alone; it
is an RLock, and a cancel that re-enters a section only wakes sleepers, which needs no lock.

In a burst a receiver lets the channel fill up (`_gather`): for a fifth of a millisecond it asks to
be woken by a full channel alone. No wake-up is lost by that: the wait is bounded, and before it
sleeps in earnest it asks for every item again and looks once more. With several receivers the
others may wait that fifth longer, too.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import RLock
from typing import Generic, TypeVar

from claw.cancel import CancelToken, ParkingLot, shortest_wait

T = TypeVar("T")

GATHER_S = 0.0002


class Channel(Generic[T]):
    """At most `size` items wait here, 1 or more. Any thread may send, receive and close."""

    def __init__(self, size: int, cancel: CancelToken) -> None:
        if size < 1:
            raise ValueError(f"a channel needs room for at least one item, not {size}")
        self._size = size
        self._cancel = cancel
        self._items: deque[T] = deque()
        self._closed = False
        self._flowing = False  # something was received before
        self._wake_at = 1  # items that wake a receiver
        self._lock = RLock()
        self._senders = ParkingLot()
        self._receivers = ParkingLot()
        self._detach = cancel.on_cancel(self._wake_everybody)

    def send(self, item: T) -> bool:
        """Blocks while the channel is full. False once it is cancelled or closed; never raises.

        A producer is `if not channel.send(event): return`.
        """
        while not (self._cancel.cancelled or self._closed):
            with self._lock:
                if len(self._items) < self._size and not self._closed:
                    self._items.append(item)
                    if len(self._items) >= self._wake_at:
                        self._receivers.wake_all()
                    return True
            self._sleep(self._senders, self._has_room)
        return False

    def send_many(self, items: Sequence[T]) -> bool:
        """Like `send` for each item in turn, under one lock as far as there is room."""
        sent = 0
        while sent < len(items):
            if self._cancel.cancelled or self._closed:
                return False
            with self._lock:
                room = self._size - len(self._items)
                if room > 0 and not self._closed:
                    self._items.extend(items[sent : sent + room])
                    sent += room
                    if len(self._items) >= self._wake_at:
                        self._receivers.wake_all()
                    continue
            self._sleep(self._senders, self._has_room)
        return True

    def recv_many(self, timeout: float | None = None) -> list[T] | None:
        """All that is there, at least one item; [] once the channel is closed and empty.

        Raises Cancelled, also while items are left. With `timeout` (seconds), None comes back when
        nothing has come by then.
        """
        end = None if timeout is None else time.monotonic() + timeout
        if self._flowing and not self._items:
            self._gather()
        while True:
            self._cancel.raise_if_cancelled()
            with self._lock:
                if self._items:
                    items = list(self._items)
                    self._items.clear()
                    self._senders.wake_all()
                    self._flowing = True
                    return items
                if self._closed:
                    return []
            if end is not None and time.monotonic() >= end:
                return None
            self._sleep(self._receivers, self._has_items, end)

    def recv(self) -> tuple[T | None, bool]:
        """(item, True), or (None, False) once the channel is closed and empty. Raises Cancelled."""
        while True:
            self._cancel.raise_if_cancelled()
            with self._lock:
                if self._items:
                    item = self._items.popleft()
                    self._senders.wake_all()
                    return item, True
                if self._closed:
                    return None, False
            self._sleep(self._receivers, self._has_items)

    def close(self) -> None:
        """No more will be sent. What lies there is still received; closing twice is harmless."""
        self._closed = True
        self._detach()
        self._wake_everybody()

    @property
    def closed(self) -> bool:
        return self._closed

    def __iter__(self) -> Iterator[T]:
        while True:
            item, ok = self.recv()
            if not ok:
                return
            yield item  # type: ignore[misc]  # ok says that it is one

    def _gather(self) -> None:
        """Sleeps until the channel is full, but no longer than GATHER_S. Between two threads of
        one interpreter a wake-up costs more than reading an event; in a burst this saves most of
        them, and a single event comes at most so much later."""
        self._wake_at = self._size
        try:
            self._sleep(self._receivers, self._is_full, time.monotonic() + GATHER_S)
        finally:
            self._wake_at = 1

    def _sleep(self, lot: ParkingLot, ready: Callable[[], bool], end: float | None = None) -> None:
        """Until somebody wakes the lot, the deadline or `end`; returns at once if it needn't."""
        place, woken = lot.take_place(), False  # a wake-up can't be lost from here on
        try:
            if not (ready() or self._closed or self._cancel.cancelled):
                woken = place.acquire(timeout=shortest_wait(end, self._cancel.deadline))
        finally:
            if not woken:
                lot.leave(place)

    def _has_items(self) -> bool:
        return bool(self._items)

    def _is_full(self) -> bool:
        return len(self._items) >= self._size

    def _has_room(self) -> bool:
        return len(self._items) < self._size

    def _wake_everybody(self) -> None:
        self._receivers.wake_all()
        self._senders.wake_all()
