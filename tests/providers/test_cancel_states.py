"""A cancel in each state of the network: the thread ends, the server sees it, nothing is left.

Measured on two cores: the thread ends and the server sees it within 5 ms, mostly in a tenth of
that. On busy ones a single round may lose 50 ms to other work, so one round has a wide bound and
the median a narrow one.
"""

from __future__ import annotations

import threading
import time
from statistics import median

import pytest

from claw.cancel import CancelToken
from claw.events import Retrying
from claw.providers.guard import AddressInfo
from claw.providers.openai_chat import OpenAIChat
from tests.support.asking import Asking, ask
from tests.support.routes import ROUTES, Route, connecting_to
from tests.support.server import (
    Behaviour,
    Server,
    flood,
    headers_then_silence,
    never_answer,
    one_delta_then_silence,
    reply,
    status,
    unanswered_port,
)

WITHIN_S = 0.5
MEDIAN_S = 0.05


by_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)


def cancel_and_check(asking: Asking, server: Server) -> None:
    cancelled_at = asking.cancel_now()
    asking.wait_for_end()
    left_at = server.wait_disconnect()
    assert asking.ended_at - cancelled_at < WITHIN_S
    assert left_at - cancelled_at < WITHIN_S
    assert not any(event.type in ("completed", "failed") for event in asking.events)


@by_route
def test_waiting_for_the_headers(route: Route) -> None:
    with route.to(never_answer) as (provider, server):
        asking = Asking(provider)
        server.wait_request()
        cancel_and_check(asking, server)


@by_route
def test_headers_and_then_silence(route: Route) -> None:
    with route.to(headers_then_silence) as (provider, server):
        asking = Asking(provider)
        server.wait_request()
        cancel_and_check(asking, server)


@by_route
def test_a_stream_that_fell_silent(route: Route) -> None:
    with route.to(one_delta_then_silence) as (provider, server):
        asking = Asking(provider)
        assert asking.first_event.wait(5)
        cancel_and_check(asking, server)


@by_route
def test_a_flooding_stream(route: Route) -> None:
    with route.to(flood) as (provider, server):
        asking = Asking(provider)
        assert asking.first_event.wait(5)
        cancel_and_check(asking, server)


@by_route
def test_a_flooding_stream_whose_reader_takes_nothing(route: Route) -> None:
    """A full channel: the producer is stuck in a send, not in the read."""
    with route.to(flood) as (provider, server):
        asking = Asking(provider, pause_after=1)
        assert asking.paused.wait(5)
        cancelled_at = asking.cancel_now()
        asking.go_on.set()
        asking.wait_for_end()
        assert server.wait_disconnect() - cancelled_at < WITHIN_S


@by_route
def test_a_silent_stream_whose_reader_takes_nothing(route: Route) -> None:
    """The server sees it although nobody reads, or closes anything, on our side."""
    with route.to(one_delta_then_silence) as (provider, server):
        asking = Asking(provider, pause_after=1)
        assert asking.paused.wait(5)
        cancelled_at = asking.cancel_now()
        assert server.wait_disconnect() - cancelled_at < WITHIN_S
        asking.go_on.set()
        asking.wait_for_end()


@by_route
@pytest.mark.parametrize("behaviour", [never_answer, one_delta_then_silence, flood])
def test_the_median_of_many_cancels(route: Route, behaviour: Behaviour) -> None:
    thread, server_side = [], []
    for _ in range(9):
        with route.to(behaviour) as (provider, server):
            asking = Asking(provider)
            server.wait_request()
            cancelled_at = asking.cancel_now()
            asking.wait_for_end()
            thread.append(asking.ended_at - cancelled_at)
            server_side.append(server.wait_disconnect() - cancelled_at)
    assert median(thread) < MEDIAN_S
    assert median(server_side) < MEDIAN_S


@pytest.mark.parametrize("proxy", [False, True], ids=["straight", "tunnel"])
def test_a_tls_handshake_that_stalls(proxy: bool) -> None:
    route = Route("", tls=True, proxy=proxy)
    with route.to(never_answer, stall_handshake=True) as (provider, server):
        asking = Asking(provider)
        server.wait_connection()
        cancel_and_check(asking, server)


@pytest.mark.parametrize("proxy", [False, True], ids=["straight", "proxy"])
def test_a_long_request_that_the_server_does_not_read(proxy: bool) -> None:
    route = Route("", proxy=proxy)
    with route.to(never_answer, stall_handshake=True) as (provider, server):
        asking = Asking(provider, words="x" * 20_000_000)
        server.wait_connection()
        cancel_and_check(asking, server)


@pytest.mark.parametrize("proxy", [False, True], ids=["straight", "proxy"])
def test_a_connect_that_is_not_answered(proxy: bool) -> None:
    with unanswered_port() as port:
        address = f"http://127.0.0.1:{port}"
        base_url = "http://model.test/v1" if proxy else f"{address}/v1"
        waiting = connecting_to(port)
        asking = Asking(
            OpenAIChat("m", base_url=base_url, proxies={"all": address} if proxy else {})
        )
        while connecting_to(port) == waiting:
            pass
        cancelled_at = asking.cancel_now()
        asking.wait_for_end()
        assert asking.ended_at - cancelled_at < WITHIN_S
        assert asking.events == []


def test_a_name_look_up_that_hangs() -> None:
    asked, free = threading.Event(), threading.Event()

    def hang(*unused: object, **options: object) -> list[AddressInfo]:
        asked.set()
        free.wait(10)
        return []

    asking = Asking(OpenAIChat("m", base_url="http://model.test/v1", proxies={}, resolver=hang))
    assert asked.wait(5)
    cancelled_at = asking.cancel_now()
    asking.wait_for_end()
    assert asking.ended_at - cancelled_at < WITHIN_S
    assert asking.events == []
    free.set()  # the thread that looks up is all that was left behind


def test_the_wait_before_a_retry() -> None:
    with Route("").to(status(503, "busy", Retry_After="60")) as (provider, server):
        asking = Asking(provider)
        assert asking.first_event.wait(5)
        cancelled_at = asking.cancel_now()
        asking.wait_for_end()
        assert asking.ended_at - cancelled_at < WITHIN_S
        assert [type(event) for event in asking.events] == [Retrying]
        assert len(server.requests) == 1


def test_a_token_that_is_cancelled_already_sends_nothing() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with Route("").to() as (provider, server):
        assert ask(provider, cancel=cancel) == []
        assert server.requests == []


@pytest.mark.parametrize("behaviour", [never_answer, one_delta_then_silence, flood])
def test_a_deadline_ends_a_request_that_no_other_thread_watches(behaviour: Behaviour) -> None:
    with Route("").to(behaviour) as (provider, server):
        start = time.monotonic()
        cancel = CancelToken(timeout=0.2)
        events = ask(provider, cancel=cancel)
        assert 0.2 <= time.monotonic() - start < 0.5
        assert cancel.reason == "deadline"
        assert not any(event.type in ("completed", "failed") for event in events)
        server.wait_disconnect()


@by_route
def test_after_a_cancel_the_next_request_is_an_ordinary_one(route: Route) -> None:
    with route.to(one_delta_then_silence, reply("Hello")) as (provider, server):
        asking = Asking(provider)
        assert asking.first_event.wait(5)
        cancel_and_check(asking, server)
        assert ask(provider)[-1].type == "completed"


@by_route
@pytest.mark.parametrize("rounds", [20, pytest.param(1500, marks=pytest.mark.stress)])
def test_a_late_cancel_never_hurts_the_next_request(route: Route, rounds: int) -> None:
    """Request A is cancelled round about its end, from another thread, while B takes over its
    connection: B is always answered in full."""
    with route.to(reply("Hello")) as (provider, _):
        for number in range(rounds):
            cancel = CancelToken()
            gate = threading.Barrier(2)

            def cancel_late(gate: threading.Barrier, cancel: CancelToken, delay: float) -> None:
                gate.wait()
                end = time.perf_counter() + delay
                while time.perf_counter() < end:
                    pass
                cancel.cancel()

            delay = (number % 50) * 0.00004  # up to 2 ms, the length of a request
            canceller = threading.Thread(target=cancel_late, args=(gate, cancel, delay))
            canceller.start()
            gate.wait()
            ask(provider, cancel=cancel)
            following = ask(provider)
            canceller.join()
            assert [event.type for event in following] == ["text_delta", "completed"]
