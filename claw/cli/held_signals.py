"""What a signal does in the first tenth of a second, while a command's parts are still imported.

A KeyboardInterrupt in the middle of an import may be swallowed (a callback of the import's own
locks prints it as "ignored"), and no part that could end the command in good order is there yet.
So signals wait: until the first turn, which they cancel (`armed` asks for them), or until a
command without one lets them through. A second one waits for nothing.

There is no state but the handler itself, where the system keeps it. A signal that was ignored when
we came stays ignored.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import Any

DEFAULTS: Mapping[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


class _Hold:
    """The handler: keeps the first signal."""

    def __init__(self) -> None:
        self.caught: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.caught is None:
            self.caught = signal.Signals(number)
        else:
            _as_by_default()
            signal.raise_signal(number)


def hold_signals() -> None:
    """From here on the first Ctrl-C, TERM or HUP waits. On the main thread."""
    hold = _Hold()
    for number, default in DEFAULTS.items():
        if signal.getsignal(number) is default:
            signal.signal(number, hold)


def caught_by(handlers: Iterable[Any]) -> signal.Signals | None:
    """The signal that waits in one of these handlers; None if none came."""
    return next((each.caught for each in handlers if isinstance(each, _Hold)), None)


def let_signals_through() -> None:
    """Signals do again what Python lets them do, the one that waits at once: KeyboardInterrupt for
    a Ctrl-C, and the end of the process for the others. Nothing where none are held."""
    caught = caught_by(map(signal.getsignal, DEFAULTS))
    _as_by_default()
    if caught is not None:
        signal.raise_signal(caught)


def _as_by_default() -> None:
    for number, default in DEFAULTS.items():
        if isinstance(signal.getsignal(number), _Hold):
            signal.signal(number, default)
