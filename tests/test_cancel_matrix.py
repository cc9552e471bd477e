"""Cancel in each state of the network, seen by whoever called the engine.

Three things are promised, as medians over the repetitions: the caller is back within 50 ms, the
server sees the disconnect within 100 ms, and a second later no thread or descriptor is left (the
fixture in conftest.py). After each cancel the history is whole, and the next turn is normal.
"""

from __future__ import annotations

import os
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass

import pytest

from claw import CancelToken, Engine, Reporter, RunStatus, Session
from claw.providers import OpenAIChat, ScriptedProvider, text_turn
from claw.session import orphan_results, unanswered_calls
from tests.support.interrupting import interrupt_main
from tests.support.routes import ROUTES, Route, connecting_to
from tests.support.server import (
    Behaviour,
    Server,
    drip,
    flood,
    headers_then_silence,
    never_answer,
    one_delta_then_silence,
    reply,
    serve,
    status,
    unanswered_port,
)

REPETITIONS = 25 if os.environ.get("CLAW_STRESS") else 5
CALLER_MS, SERVER_MS = 50, 100
ACROSS_THREADS = 30  # seconds; never reached


class Watching(Reporter):
    """Tells a test when the run got to a certain point."""

    def __init__(self) -> None:
        self.text, self.retry = threading.Event(), threading.Event()

    def on_text_delta(self, text: str) -> None:
        self.text.set()

    def on_notice(self, text: str) -> None:
        self.retry.set()


@dataclass
class Scene:
    """A run that is about to get stuck: `reached` returns once it is. server: the one that must
    see the disconnect, if there is one."""

    provider: OpenAIChat
    reached: Callable[[Watching], object]
    server: Server | None = None


State = Callable[[Route], AbstractContextManager[Scene]]


def at_server(
    behaviour: Behaviour, reached: Callable[[Server, Watching], object], *, connected: bool = True
) -> State:
    @contextmanager
    def scene(route: Route) -> Iterator[Scene]:
        with route.to(behaviour) as (provider, server):
            met = server if connected else None
            yield Scene(provider, lambda watching: reached(server, watching), met)

    return scene


def told(event: str) -> Callable[[Server, Watching], object]:
    return lambda server, watching: getattr(watching, event).wait(ACROSS_THREADS)


def asked(server: Server, watching: Watching) -> object:
    return server.wait_request(ACROSS_THREADS)


@contextmanager
def stalled_handshake(route: Route) -> Iterator[Scene]:
    with route.to(never_answer, stall_handshake=True) as (provider, server):
        yield Scene(provider, lambda watching: server.wait_connection(ACROSS_THREADS), server)


@contextmanager
def unanswered_connect(route: Route) -> Iterator[Scene]:
    with unanswered_port() as port:
        filled = connecting_to(port)
        address = f"127.0.0.1:{port}"
        scheme = "https" if route.tls else "http"
        provider = OpenAIChat(
            "m",
            base_url=f"{scheme}://model.test/v1" if route.proxy else f"{scheme}://{address}/v1",
            proxies={"all": f"http://{address}"} if route.proxy else {},
        )
        with closing(provider):
            yield Scene(provider, lambda watching: wait_until_connecting(port, filled))


def wait_until_connecting(port: int, filled: int) -> None:
    """Until one more socket than those that fill the port's queue is connecting to it."""
    while connecting_to(port) <= filled:
        pass


@contextmanager
def stuck_look_up(route: Route) -> Iterator[Scene]:
    asked, release = threading.Event(), threading.Event()

    def resolver(*unused: object, **more: object) -> list[tuple[object, ...]]:
        asked.set()
        release.wait(ACROSS_THREADS)
        raise OSError("too late")

    provider = OpenAIChat(
        "m",
        base_url="https://model.test/v1" if route.tls else "http://model.test/v1",
        proxies={"all": "http://proxy.test:3128"} if route.proxy else {},
        resolver=resolver,
    )
    yield Scene(provider, lambda watching: asked.wait(ACROSS_THREADS))
    release.set()


BUSY = status(503, "busy", Retry_After="60")
FRESH = [route for route in ROUTES if not route.reused]
TLS = [route for route in FRESH if route.tls]
STATES: list[tuple[str, State, list[Route]]] = [
    ("look-up", stuck_look_up, FRESH),
    ("connect", unanswered_connect, FRESH),
    ("handshake", stalled_handshake, TLS),
    ("headers", at_server(never_answer, asked), ROUTES),
    ("first event", at_server(headers_then_silence, asked), ROUTES),
    ("silent stream", at_server(one_delta_then_silence, told("text")), ROUTES),
    ("flood", at_server(flood, told("text")), ROUTES),
    (
        "retry wait",
        at_server(BUSY, told("retry"), connected=False),
        ROUTES,
    ),
]
EVERY_STATE = [
    pytest.param(state, route, id=f"{name}-{route.name}")
    for name, state, routes in STATES
    for route in routes
]


def whole(session: Session) -> bool:
    return not unanswered_calls(session.messages) and not orphan_results(session.messages)


def median_ms(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000


def cancelled_by_a_thread(scene: Scene, session: Session) -> tuple[float, float]:
    """The monotonic times of the cancel and of the return to the caller."""
    token, watching = CancelToken(), Watching()
    cancelled_at: list[float] = []

    def cancel() -> None:
        scene.reached(watching)
        cancelled_at.append(time.monotonic())
        token.cancel("interrupt")

    canceller = threading.Thread(target=cancel)
    canceller.start()
    result = Engine(scene.provider, reporter=watching).run(session, "hello", cancel=token)
    returned_at = time.monotonic()
    canceller.join()
    assert (result.status, result.cancel_reason) == (RunStatus.CANCELLED, "interrupt")
    return cancelled_at[0], returned_at


def interrupted_on_the_keyboard(scene: Scene, session: Session) -> tuple[float, float]:
    """As in a script with Python's own handler: KeyboardInterrupt on the caller's thread."""
    watching, over = Watching(), threading.Event()
    struck_at: list[float] = []

    def interrupt() -> None:
        scene.reached(watching)
        struck_at.append(interrupt_main(over))

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        Engine(scene.provider, reporter=watching).run(session, "hello")
    returned_at = time.monotonic()
    over.set()
    interrupter.join()
    return struck_at[0], returned_at


@pytest.mark.parametrize("cancelled", [cancelled_by_a_thread, interrupted_on_the_keyboard])
@pytest.mark.parametrize(("state", "route"), EVERY_STATE)
def test_the_caller_is_back_the_server_knows_and_the_next_turn_is_normal(
    state: State,
    route: Route,
    cancelled: Callable[[Scene, Session], tuple[float, float]],
) -> None:
    back: list[float] = []
    seen: list[float] = []
    for _ in range(REPETITIONS):
        with state(route) as scene:
            session = Session()
            cancelled_at, returned_at = cancelled(scene, session)
            back.append(returned_at - cancelled_at)
            if scene.server is not None:
                seen.append(max(0.0, scene.server.wait_disconnect() - cancelled_at))
            assert whole(session)
            assert Engine(ScriptedProvider(text_turn("ok"))).run(session, "again").text == "ok"
    assert median_ms(back) < CALLER_MS
    assert not seen or median_ms(seen) < SERVER_MS


@pytest.mark.stress
def test_a_late_cancel_of_one_run_never_hurts_another_on_the_same_connection() -> None:
    with serve(reply("Hel", "lo")) as server:
        provider = OpenAIChat("m", base_url=server.url, max_retries=0)
        with closing(provider):
            for round_ in range(500):
                token = CancelToken()
                timer = threading.Timer(0.0005 * (round_ % 8), token.cancel)
                timer.start()
                Engine(provider).run(Session(), "one", cancel=token)
                result = Engine(provider).run(Session(), "two")
                assert (result.status, result.text) == (RunStatus.COMPLETED, "Hello")
                timer.join()


@pytest.mark.stress
def test_random_cancels_leave_none_stuck() -> None:
    dice = random.Random(3)
    with serve(drip("some words that take a while", 0.0005)) as server:
        provider = OpenAIChat("m", base_url=server.url)
        with closing(provider):
            for _ in range(500):
                token, session = CancelToken(), Session()
                timer = threading.Timer(dice.random() * 0.03, token.cancel)
                timer.start()
                result = Engine(provider).run(session, "go", cancel=token)
                timer.join()
                assert result.status in (RunStatus.COMPLETED, RunStatus.CANCELLED)
                assert whole(session)
