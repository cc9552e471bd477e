"""turn: what holds on the terminal and for signals while one prompt is worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from claw.cancel import CancelToken
from claw.cli.interrupts import Ending, armed
from claw.cli.terminal import Terminal


@contextmanager
def turn(
    cancel: CancelToken, terminal: Terminal, *, kill: Callable[[], object] | None = None
) -> Iterator[Ending]:
    """Signals cancel `cancel`, and the terminal keeps what is typed. On the main thread.

    A second Ctrl-C raises KeyboardInterrupt inside. At the third the terminal is restored, `kill`
    is called on another thread (it kills process groups and must not block), and the process ends
    with 130.
    """

    def last_resort() -> None:
        with suppress(Exception):
            terminal.restore()
        if kill is not None:
            kill()

    signals = armed(cancel, last_resort=last_resort, resumed=terminal.renew_modes)
    with signals as ending, terminal.turn_modes():
        yield ending
