"""Chunked bodies: whatever the chunks and the cuts, the content is http.client's, and prompt."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.providers.chunks import ChunkDecoder, PromptResponse
from tests.support.cutting import cut

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LIMIT_S = 5  # for reads that must not wait at all

sizes = st.sampled_from([b"%x", b"%X", b"00%x", b"%x ", b" %x", b"%x;a=b", b'%x ; a="\xff"'])
line_ends = st.sampled_from([b"\r\n", b"\r\n", b"\n"])
contents = st.binary(min_size=1, max_size=40) | st.sampled_from(
    [b"\r\n", b"0\r\n\r\n", b"5\r\n", b"\n", b"data: x\n\n"]
)
chunks = st.builds(
    lambda content, size, end: size % len(content) + end + content + b"\r\n",
    contents,
    sizes,
    line_ends,
)
trailers = st.lists(st.sampled_from([b"X: 1\r\n", b"Y: 2\n", b"0\r\n", b" \r\n"]), max_size=3)
ends = st.builds(
    lambda zero, end, lines, last: zero + end + b"".join(lines) + last,
    st.sampled_from([b"0", b"000", b"0;last", b" 0"]),
    line_ends,
    trailers,
    line_ends,
)
bodies = st.builds(lambda body, end: b"".join(body) + end, st.lists(chunks, max_size=8), ends)
places = st.lists(st.integers(0, 300), max_size=8)
noise = st.binary(max_size=12) | st.text(alphabet="0123afAF;_-+x \r\n", max_size=12).map(str.encode)


def decode(pieces: list[bytes]) -> tuple[bytes, str, bool]:
    """(content, fault, ended) of a body that ends with the last piece."""
    decoder = ChunkDecoder()
    content = b"".join([decoder.feed(piece) for piece in pieces])
    if not decoder.ended:
        decoder.end()
    return content, decoder.fault, decoder.ended


@contextmanager
def answering(kind: type[HTTPResponse]) -> Iterator[tuple[HTTPResponse, socket.socket]]:
    """A response that waits for its body, and the server's end of its connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(LIMIT_S)
        theirs.sendall(HEAD)
        with kind(ours) as response:
            response.begin()
            yield response, theirs


def read_by(kind: type[HTTPResponse], body: bytes) -> bytes | None:
    """What that class reads of a body that is there as a whole; None for a broken one."""
    with answering(kind) as (response, server):
        server.sendall(body)
        server.close()
        pieces = []
        try:
            while piece := response.read1(65536):
                pieces.append(piece)
        except (HTTPException, ValueError):
            return None
        assert response.isclosed()
        return b"".join(pieces)


# --- the decoder --------------------------------------------------------------------------------


@given(bodies, places)
def test_any_chunks_in_any_cutting_give_what_http_client_reads(
    body: bytes, places: list[int]
) -> None:
    content, fault, ended = decode(cut(body, places))
    assert (fault, ended) == ("", True)
    assert content == read_by(HTTPResponse, body)


@given(bodies)
def test_what_there_is_of_a_chunk_comes_with_its_bytes(body: bytes) -> None:
    whole = decode([body])[0]
    decoder, came = ChunkDecoder(), b""
    for end in range(1, len(body) + 1):
        came += decoder.feed(body[end - 1 : end])
        assert came == ChunkDecoder().feed(body[:end])
        assert decoder.ended == (end == len(body))
    assert came == whole


@given(st.one_of(st.tuples(bodies, noise, places), st.tuples(st.just(b""), noise, places)))
def test_a_damaged_body_is_read_alike_in_any_cutting_and_never_laxer(
    case: tuple[bytes, bytes, list[int]],
) -> None:
    body, damage, places = case
    for at in (0, len(body) // 2, max(0, len(body) - 4)):
        damaged = body[:at] + damage + body[at:]
        content, fault, ended = decode([damaged])
        for cutting in (cut(damaged, places), cut(damaged, list(range(len(damaged))))):
            again = decode(cutting)
            assert (again[0], bool(again[1]), again[2]) == (content, bool(fault), ended)
        assert ended != bool(fault)
        if ended:
            assert content == read_by(HTTPResponse, damaged)


@pytest.mark.parametrize(
    "body",
    [
        b"\r\n",
        b"\n",
        b";a=b\r\n",
        b"x\r\n",
        b"-1\r\n",
        b"+1\r\na\r\n",
        b"0x1\r\na\r\n",
        b"1_0\r\n" + b"a" * 16 + b"\r\n",
        b"1\x0b\r\na\r\n",
        b"1 1\r\na\r\n",
        b"1\ra\r\n",
        b"1" * 17 + b"\r\na",
        b"1;" + b"e" * 5000,
        b"1;" + b"e" * 5000 + b"\r\na\r\n",
        b" " * 5000,
        b"1\r\nab",
        b"1\r\na\n0\r\n\r\n",
        b"1\r\na\rb",
        b"2\r\na\r\n0\r\n\r\n",
        b"0\r\nX: " + b"t" * 5000,
        b"0\r\n" + b"X: t\r\n" * 500,
    ],
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_broken_framing_is_seen_without_waiting_for_more(body: bytes, size: int) -> None:
    decoder, good = ChunkDecoder(), b"3\r\nabc\r\n"
    came = decoder.feed(good)
    for start in range(0, len(body), size):
        came += decoder.feed(body[start : start + size])
    assert decoder.fault
    assert not decoder.ended
    assert came.startswith(b"abc")
    assert decoder.feed(b"1\r\nz\r\n0\r\n\r\n") == b""


def test_a_fault_does_not_swallow_what_came_before_it() -> None:
    decoder = ChunkDecoder()
    assert decoder.feed(b"3\r\nabc\r\nfoo\r\n") == b"abc"
    assert decoder.fault


@pytest.mark.parametrize(
    "body", [b"", b"3", b"3\r\n", b"3\r\nab", b"3\r\nabc", b"3\r\nabc\r\n", b"0"]
)
def test_a_body_that_ends_before_its_last_chunk_is_broken(body: bytes) -> None:
    assert decode([body])[1:] == ("the body ended before its last chunk", False)


@pytest.mark.parametrize("end", [b"0\r\n", b"0\r\n\r", b"0\r\nX: 1\r\n", b"0\r\nX: 1"])
def test_the_last_empty_line_may_be_missing(end: bytes) -> None:
    assert decode([b"3\r\nabc\r\n" + end]) == (b"abc", "", True)


def test_what_follows_the_body_is_not_read() -> None:
    decoder = ChunkDecoder()
    assert decoder.feed(b"1\r\na\r\n0\r\n\r\nHTTP/1.1 200 OK") == b"a"
    assert decoder.ended
    assert decoder.feed(b"1\r\na\r\n") == b""
    assert decoder.fault == ""


# --- the response -------------------------------------------------------------------------------


def test_all_that_has_arrived_comes_with_one_read() -> None:
    with answering(PromptResponse) as (response, server):
        server.sendall(b"1\r\na\r\n2\r\nbc\r\n")
        assert response.read1(65536) == b"abc"
        server.sendall(b"5\r\nde")
        assert response.read1(65536) == b"de"
        server.sendall(b"fgh\r\n0\r\n\r\n")
        assert response.read1(65536) == b"fgh"
        assert response.isclosed()
        assert response.read1(65536) == b""


def test_framing_alone_is_not_taken_for_the_end() -> None:
    with answering(PromptResponse) as (response, server):
        for byte in b"3;ext\r\nabc":
            server.sendall(bytes([byte]))
        assert response.read1(2) == b"a"
        assert response.read1(0) == b""
        assert response.read1(65536) == b"bc"


def test_a_broken_body_gives_its_content_first_and_then_an_error() -> None:
    with answering(PromptResponse) as (response, server):
        server.sendall(b"1\r\na\r\nfoo\r\n")
        assert response.read1(65536) == b"a"
        for _ in range(2):
            with pytest.raises(HTTPException, match="can't be read"):
                response.read1(65536)


def test_a_connection_that_closes_too_soon_is_an_error() -> None:
    with answering(PromptResponse) as (response, server):
        server.sendall(b"3\r\nab")
        server.close()
        assert response.read1(65536) == b"ab"
        with pytest.raises(HTTPException, match="ended before"):
            response.read1(65536)


def test_a_body_of_known_length_is_read_as_ever() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
        with PromptResponse(ours) as response:
            response.begin()
            assert response.read1(65536) == b"abc"
