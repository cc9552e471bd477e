"""Signals during a turn. These tests send real signals to this very process."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from claw.cancel import CancelToken
from claw.cli.interrupts import armed, ended_by_signals

REASONS = {
    signal.SIGINT: ("interrupt", 130),
    signal.SIGTERM: ("terminated", 143),
    signal.SIGHUP: ("hangup", 129),
}


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", REASONS)
def test_a_signal_cancels_the_token_and_is_told_afterwards(number: signal.Signals) -> None:
    reason, code = REASONS[number]
    token = CancelToken()
    with armed(token) as ending:
        send(number)
        assert token.wait(10)
    assert (token.reason, ending.signal, ending.exit_code) == (reason, number, code)


def test_without_a_signal_nothing_is_told() -> None:
    token = CancelToken()
    with armed(token) as ending:
        pass
    assert (token.cancelled, ending.signal, ending.exit_code) == (False, None, None)


def test_the_callbacks_of_the_token_run_on_the_watcher_thread() -> None:
    token, names = CancelToken(), []
    token.on_cancel(lambda: names.append(threading.current_thread().name))
    with armed(token):
        send(signal.SIGINT)
        token.wait(10)
    assert names == ["claw-sigint"]


def test_the_second_ctrl_c_raises() -> None:
    token, steps = CancelToken(), []

    def turn() -> None:
        with armed(token):
            for wait_on in (token, CancelToken()):
                send(signal.SIGINT)
                steps.append(wait_on.wait(10))

    with pytest.raises(KeyboardInterrupt):
        turn()
    assert steps == [True]


def test_a_second_term_raises_nothing() -> None:
    token = CancelToken()
    with armed(token) as ending:
        send(signal.SIGTERM)
        send(signal.SIGTERM)
        assert token.wait(10)
    assert ending.exit_code == 143


def test_a_ctrl_c_of_one_turn_does_not_reach_the_next() -> None:
    first, second = CancelToken(), CancelToken()
    with armed(first):
        send(signal.SIGINT)
        first.wait(10)
    with armed(second) as ending:
        assert not second.wait(0.05)
    assert ending.signal is None


def test_a_process_that_goes_on_after_a_stop_is_told_so() -> None:
    token, told = CancelToken(), threading.Event()
    with armed(token, resumed=told.set) as ending:
        send(signal.SIGCONT)
        assert told.wait(10)
    assert (token.cancelled, ending.signal) == (False, None)


def test_between_turns_a_ctrl_c_raises_once() -> None:
    with ended_by_signals():
        for _ in range(100):
            with pytest.raises(KeyboardInterrupt):
                send(signal.SIGINT)


def test_handlers_and_wakeup_descriptor_are_as_before() -> None:
    before = [signal.getsignal(number) for number in REASONS]
    with pytest.raises(ZeroDivisionError), armed(CancelToken()):
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in REASONS] == before
    assert signal.set_wakeup_fd(-1) == -1


def test_it_works_after_somebody_left_the_wakeup_descriptor_unset() -> None:
    signal.set_wakeup_fd(-1)
    token = CancelToken()
    with armed(token):
        send(signal.SIGINT)
        assert token.wait(10)


def test_an_ignored_signal_stays_ignored() -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with armed(CancelToken()) as ending:
            send(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert ending.signal is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, previous)


THREE_TIMES = """
import os, signal, sys
from claw.cancel import CancelToken
from claw.cli.interrupts import armed

def last_resort():
    print("last resort", flush=True)
    {then}

token = CancelToken()
with armed(token, last_resort=last_resort):
    for _ in range(3):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            CancelToken().wait(0.2)  # a turn that doesn't end
        except KeyboardInterrupt:
            print("raised", flush=True)
    while True:
        CancelToken().wait(10)
"""


@pytest.mark.parametrize("then", ["pass", "raise ZeroDivisionError"])
def test_the_third_ctrl_c_ends_a_process_that_does_not_listen(then: str) -> None:
    script = THREE_TIMES.format(then=then)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=30)
    assert done.returncode == 130
    assert done.stdout.decode().split("\n")[:2] == ["raised", "last resort"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_between_turns_term_and_hup_leave_in_good_order(number: signal.Signals, code: int) -> None:
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as leaving, ended_by_signals():
        send(number)
    assert leaving.value.code == code
    assert signal.getsignal(number) == before


def rounds(count: int) -> None:
    """A Ctrl-C at a random instant of a wait is never lost."""
    for _ in range(count):
        token = CancelToken()
        with armed(token):
            timer = threading.Thread(target=send_after, args=(random.random() * 0.0005,))
            timer.start()
            assert token.wait(10), "the Ctrl-C was lost"
            timer.join()


def send_after(delay: float) -> None:
    end = time.monotonic() + delay
    while time.monotonic() < end:
        pass
    send(signal.SIGINT)


def test_no_ctrl_c_is_lost() -> None:
    rounds(200)


@pytest.mark.stress
def test_no_ctrl_c_is_lost_in_many_rounds() -> None:
    rounds(20_000)
