"""Cancel in each state of the network, seen by whoever called the engine.

Three things are promised, as medians over the repetitions: the caller is back within 50 ms, the
server sees the disconnect within 100 ms, and a second later no thread or descriptor is left (the
fixture in conftest.py). After each cancel the history is whole, and the next turn is normal.
"""

from __future__ import annotations

import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import pytest

from claw import CancelToken, Engine, Reporter, RunStatus, Session
from claw.providers import OpenAIChat, ScriptedProvider, text_turn
from claw.session import orphan_results, unanswered_calls
from tests.support.routes import ROUTES, Route, wait_for_socket
from tests.support.server import (
    Server,
    flood,
    headers_then_silence,
    never_answer,
    one_delta_then_silence,
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
    """A run that is about to get stuck: `reached` returns once it is. `server` if one is met."""

    provider: OpenAIChat
    reached: Callable[[Watching], object]
    server: Server | None = None


Setting = Callable[[Route], "contextmanager[Scene]"]


def at_server(
    behaviour: Callable[..., None], reached: Callable[[Server, Watching], object]
) -> Callable[[Route], Iterator[Scene]]:
    @contextmanager
    def scene(route: Route) -> Iterator[Scene]:
        with route.to(behaviour) as (provider, server):
            yield Scene(provider, lambda watching: reached(server, watching), server)

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
        address = f"127.0.0.1:{port}"
        scheme = "https" if route.tls else "http"
        provider = OpenAIChat(
            "m",
            base_url=f"{scheme}://model.test/v1" if route.proxy else f"{scheme}://{address}/v1",
            proxies={"all": f"http://{address}"} if route.proxy else {},
        )
        yield Scene(provider, lambda watching: wait_for_socket(port))
        provider.close()


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


FRESH = [route for route in ROUTES if not route.reused]
TLS = [route for route in FRESH if route.tls]
STATES: list[tuple[str, Callable[[Route], Iterator[Scene]], list[Route]]] = [
    ("look-up", stuck_look_up, FRESH),
    ("connect", unanswered_connect, FRESH),
    ("handshake", stalled_handshake, TLS),
    ("headers", at_server(never_answer, asked), ROUTES),
    ("first event", at_server(headers_then_silence, asked), ROUTES),
    ("silent stream", at_server(one_delta_then_silence, told("text")), ROUTES),
    ("flood", at_server(flood, told("text")), ROUTES),
    ("retry wait", at_server(status(503, "busy", Retry_After="60"), told("retry")), ROUTES),
]
EVERY_STATE = [
    pytest.param(scene, route, id=f"{name}-{route.name}")
    for name, scene, routes in STATES
    for route in routes
]


def whole(session: Session) -> bool:
    return not unanswered_calls(session.messages) and not orphan_results(session.messages)


def median_ms(seconds: list[float]) -> float:
    return statistics.median(seconds) * 1000


@pytest.mark.parametrize(("scene", "route"), EVERY_STATE)
def test_by_another_thread(scene: Callable[..., contextmanager], route: Route) -> None:  # type: ignore[type-arg]
    back: list[float] = []
    seen: list[float] = []
    for _ in range(REPETITIONS):
        with scene(route) as stage:  # type: ignore[attr-defined]
            token, session, watching = CancelToken(), Session(), Watching()
            cancelled_at: list[float] = []

            def cancel(stage: Scene = stage, watching: Watching = watching) -> None:
                stage.reached(watching)
                cancelled_at.append(time.monotonic())
                token.cancel("interrupt")

            canceller = threading.Thread(target=cancel)
            canceller.start()
            engine = Engine(stage.provider, reporter=watching)
            result = engine.run(session, "hello", cancel=token)
            back.append(time.monotonic() - cancelled_at[0])
            canceller.join()
            assert (result.status, result.cancel_reason) == (RunStatus.CANCELLED, "interrupt")
            note_disconnect(stage, cancelled_at[0], seen)
            assert whole(session)
            assert Engine(ScriptedProvider(text_turn("ok"))).run(session, "again").text == "ok"
    assert median_ms(back) < CALLER_MS
    assert not seen or median_ms(seen) < SERVER_MS


@pytest.mark.parametrize(("scene", "route"), EVERY_STATE)
def test_by_a_keyboard_interrupt(scene: Callable[..., contextmanager], route: Route) -> None:  # type: ignore[type-arg]
    """As in a script with Python's own handler: KeyboardInterrupt on the caller's thread."""
    main = threading.main_thread().ident
    assert main is not None
    back: list[float] = []
    seen: list[float] = []
    for _ in range(REPETITIONS):
        with scene(route) as stage:  # type: ignore[attr-defined]
            session, watching, struck_at = Session(), Watching(), []

            def interrupt(stage: Scene = stage, watching: Watching = watching) -> None:
                stage.reached(watching)
                struck_at.append(time.monotonic())
                signal.pthread_kill(main, signal.SIGINT)

            interrupter = threading.Thread(target=interrupt)
            interrupter.start()
            with pytest.raises(KeyboardInterrupt):
                Engine(stage.provider, reporter=watching).run(session, "hello")
            back.append(time.monotonic() - struck_at[0])
            interrupter.join()
            note_disconnect(stage, struck_at[0], seen)
            assert whole(session)
            assert Engine(ScriptedProvider(text_turn("ok"))).run(session, "again").text == "ok"
    assert median_ms(back) < CALLER_MS
    assert not seen or median_ms(seen) < SERVER_MS


def note_disconnect(stage: Scene, since: float, seen: list[float]) -> None:
    """Once there was a connection that is still in use, the server sees it go."""
    if stage.server is not None and stage.server.peers:
        seen.append(max(0.0, stage.server.wait_disconnect() - since))


@pytest.mark.stress
def test_a_late_cancel_of_one_run_never_hurts_another_on_the_same_connection() -> None:
    from tests.support.server import reply

    with serve(reply("Hel", "lo")) as server, ExitStack() as stack:
        provider = OpenAIChat("m", base_url=server.url, max_retries=0)
        stack.callback(provider.close)
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
    import random

    from tests.support.server import drip

    dice = random.Random(3)
    with serve(drip("some words that take a while", 0.0005)) as server, ExitStack() as stack:
        provider = OpenAIChat("m", base_url=server.url)
        stack.callback(provider.close)
        for _ in range(500):
            token, session = CancelToken(), Session()
            timer = threading.Timer(dice.random() * 0.03, token.cancel)
            timer.start()
            result = Engine(provider).run(session, "go", cancel=token)
            timer.join()
            assert result.status in (RunStatus.COMPLETED, RunStatus.CANCELLED)
            assert whole(session)
    with suppress(ValueError):
        statistics.median([])
