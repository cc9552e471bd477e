"""The event-stream parser: the standard's cases, and a second parser, written by the letter."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.errors import ProtocolError
from claw.providers.sse import ServerSentEvent, SSEDecoder
from tests.support.cases import Case, load, writes
from tests.support.cutting import cut

CASES = list(load("sse").values())

TOKENS = (
    *(b"data", b"event", b"id", b"retry", b"error", b":", b": ", b" ", b"\n", b"\r", b"\r\n"),
    *(b"\n\n", b"data: x\n\n", b"\xef\xbb\xbf", b"\xe4\xbd", b"\xa0", b"\xff", b"\0", b"17"),
    *("\u2028".encode(), "\u0085".encode(), b"\x0b"),
)
BODIES = st.lists(st.sampled_from(TOKENS), max_size=40).map(b"".join) | st.binary(max_size=60)


def by_the_letter(body: bytes) -> tuple[list[ServerSentEvent], int | None]:
    """WHATWG HTML 9.2.5 and 9.2.6 as they read, one character after the other."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    lines, line, previous = [], "", ""
    for character in text:
        if character in "\r\n":
            if not (previous == "\r" and character == "\n"):
                lines.append(line)
                line = ""
        else:
            line += character
        previous = character
    events: list[ServerSentEvent] = []
    data, event, last_id, retry = "", "", "", None
    for line in lines:
        if line == "":
            if data != "":
                events.append(ServerSentEvent(event or "message", data.removesuffix("\n"), last_id))
            data = event = ""
            continue
        if line.startswith(":"):
            continue
        name, colon, value = line.partition(":")
        if colon:
            value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data += value + "\n"
        elif name == "id" and "\0" not in value:
            last_id = value
        elif name == "retry" and value != "" and all(digit in "0123456789" for digit in value):
            retry = int(value)
    return events, retry


@pytest.mark.parametrize("cutting", [None, 0, 1, 7])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_gives_its_events(case: Case, cutting: int | None) -> None:
    decoder = SSEDecoder()
    events = [event for data in writes(case, cutting) for event in decoder.feed(data)]
    assert events == [ServerSentEvent(**event) for event in case["expect"]["events"]]
    assert decoder.retry == case["expect"].get("retry")


@given(BODIES)
def test_each_event_comes_with_the_byte_that_completes_it(body: bytes) -> None:
    decoder = SSEDecoder()
    events = []
    for end in range(1, len(body) + 1):
        events += decoder.feed(body[end - 1 : end])
        assert (events, decoder.retry) == by_the_letter(body[:end])


@given(BODIES, st.lists(st.integers(0, 80), max_size=8))
def test_cuttings_change_nothing(body: bytes, places: list[int]) -> None:
    decoder = SSEDecoder()
    events = [event for piece in cut(body, places) for event in decoder.feed(piece)]
    assert (events, decoder.retry) == by_the_letter(body)


def test_other_fields_are_told_in_the_order_of_the_stream() -> None:
    seen: list[object] = []
    decoder = SSEDecoder(on_other_field=lambda name, value: seen.append((name, value)))
    for event in decoder.events(b"data: a\n\nerror: {}\n: comment\nfoo\ndata: b\n\n"):
        seen.append(event.data)
    assert seen == ["a", ("error", "{}"), ("foo", ""), "b"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_an_event_over_the_limit_is_an_error_and_what_came_before_it_is_not_lost(size: int) -> None:
    decoder = SSEDecoder(max_event_bytes=100)
    body = b"data: " + b"a" * 94 + b"\n\n: " + b"c" * 90 + b"\ndata: b\n\ndata: " + b"d" * 95
    events = []

    def decode() -> None:
        for start in range(0, len(body), size):
            for event in decoder.events(body[start : start + size]):
                events.append(event.data)

    with pytest.raises(ProtocolError, match="limit of 100 bytes"):
        decode()
    assert events == ["a" * 94, "b"]


def test_an_event_of_many_short_lines_has_the_same_limit() -> None:
    decoder = SSEDecoder(max_event_bytes=100)
    for _ in range(12):
        decoder.feed(b"data: x\n")  # seven bytes each
    with pytest.raises(ProtocolError):
        decoder.feed(b"data: x\ndata: x\ndata: x\n")


def test_comments_without_end_are_no_event() -> None:
    decoder = SSEDecoder(max_event_bytes=100)
    for _ in range(50):
        assert decoder.feed(b": ping\n") == []
    assert [event.data for event in decoder.feed(b"data: x\n\n")] == ["x"]


def test_a_retry_of_absurd_length_is_ignored() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"retry: 5\nretry: " + b"9" * 10_000 + b"\n\n")
    assert decoder.retry == 5


@pytest.mark.parametrize("piece", [1024, 1])
def test_time_grows_with_the_size_of_an_event_not_with_its_square(piece: int) -> None:
    def seconds(size: int) -> float:
        decoder, events = SSEDecoder(), []
        body = b"data: " + b"x" * size + b"\n\n"
        begin = time.process_time()
        for start in range(0, len(body), piece):
            events += decoder.feed(body[start : start + piece])
        assert len(events[0].data) == size
        return time.process_time() - begin

    small, large = (min(seconds(size * piece) for _ in range(3)) for size in (1000, 15_000))
    assert large < 15 * small * 4 + 0.05  # the square would be 225 times as much
