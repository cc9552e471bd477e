"""The model server of the benchmark: Chat Completions on loopback, as fast as Python can send it.

The URL says what comes: `<server>/<mode>/<n>/v1/chat/completions`, so any client with a base URL
can ask for it.

    burst     n text deltas at once
    messages  the same in the Messages dialect
    padded    the same as burst, each with a random string at its end, as OpenAI's own service sends
    tools     n argument fragments of 4 interleaved calls at once
    paced     n text deltas, one every 10 ms; each begins with the time it was sent at
    stall     n text deltas, then silence until the client leaves

A body is built once and kept, and each event is an HTTP chunk of its own, as real servers send
them. It runs in its own process until its standard input is closed.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain
from typing import IO, Any

DELTA_CHARS = 20
PIECES = ("of an answer, ", "\n    return x\n", 'called "claw" ', "naïve café — ", "1. **First** ")
PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
CALLS = 4
PACE_S = 0.01
STAMP_DIGITS = 20
STALL_LIMIT_S = 30.0

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)
END_OF_BODY = b"0\r\n\r\n"


@contextmanager
def running_server() -> Iterator[str]:
    """Runs the server in a process of its own; gives its URL."""
    command = [sys.executable, "-m", "tests.bench.server"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


def delta_text(number: int) -> str:
    """The text of a delta; no two in a row are alike."""
    return f"{number:06}{PIECES[number % len(PIECES)]}"


def stamp_of(delta: str) -> int:
    """The monotonic time, in nanoseconds, at which a paced delta was sent."""
    return int(delta[:STAMP_DIGITS])


def call_arguments(fragments: int) -> str:
    """The arguments of one call: JSON, as long as that many fragments."""
    size = fragments * DELTA_CHARS - len(json.dumps({"content": ""}))
    lines = (f"line {number:06} of a file. " for number in range(fragments))
    return json.dumps({"content": "".join(lines)[:size]})


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=_accept, args=(listener,), daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


def _accept(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_serve, args=(connection,), daemon=True).start()


def _serve(connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as stream, suppress(OSError):
        while path := _read_request(stream):
            _, mode, count, *_ = path.split("/")
            MODES[mode](connection, int(count))


def _read_request(stream: IO[bytes]) -> str:
    """The path of the next request, which is read in full; "" when the client has left."""
    line = stream.readline()
    length = 0
    while (header := stream.readline()).strip():
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    stream.read(length)
    return line.split()[1].decode() if line else ""


def _burst(connection: socket.socket, count: int) -> None:
    connection.sendall(_text_body(count))


def _messages(connection: socket.socket, count: int) -> None:
    connection.sendall(_messages_body(count))


def _padded(connection: socket.socket, count: int) -> None:
    connection.sendall(_padded_body(count))


def _tools(connection: socket.socket, count: int) -> None:
    connection.sendall(_tools_body(count))


def _paced(connection: socket.socket, count: int) -> None:
    connection.sendall(HEAD)
    start = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, start + number * PACE_S - time.monotonic()))
        stamp = f"{time.monotonic_ns():0{STAMP_DIGITS}}"
        connection.sendall(_chunk(_event({"content": stamp})))
    connection.sendall(_end("stop"))


def _stall(connection: socket.socket, count: int) -> None:
    connection.sendall(HEAD + b"".join(_text_chunks(count)))
    connection.settimeout(STALL_LIMIT_S)
    connection.recv(1)


MODES: dict[str, Callable[[socket.socket, int], None]] = {
    "burst": _burst,
    "messages": _messages,
    "padded": _padded,
    "tools": _tools,
    "paced": _paced,
    "stall": _stall,
}


@lru_cache(maxsize=8)
def _text_body(count: int) -> bytes:
    return HEAD + b"".join(_text_chunks(count)) + _end("stop")


@lru_cache(maxsize=8)
def _messages_body(count: int) -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "msg_bench", "type": "message", "role": "assistant", "model": "bench-model"}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    start = {"type": "content_block_start", "index": 0}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        start | {"content_block": {"type": "text", "text": ""}},
        *map(_messages_delta, range(count)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
    ]
    chunks = (_chunk(_named(event)) for event in events)
    return HEAD + b"".join(chunks) + END_OF_BODY


def _messages_delta(number: int) -> dict[str, Any]:
    delta = {"type": "text_delta", "text": delta_text(number)}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _named(payload: dict[str, Any]) -> bytes:
    data = json.dumps(payload, separators=(",", ":"), ensure_ascii=False)
    return f"event: {payload['type']}\ndata: {data}\n\n".encode()


@lru_cache(maxsize=8)
def _padded_body(count: int) -> bytes:
    chance = random.Random(0)
    chunks = (
        _chunk(_event({"content": delta_text(number)}, padding=_padding(chance)))
        for number in range(count)
    )
    return HEAD + b"".join(chunks) + _end("stop")


def _padding(chance: random.Random) -> str:
    return "".join(chance.choices(PADDING, k=chance.randint(1, 12)))


def _text_chunks(count: int) -> Iterator[bytes]:
    return (_chunk(_event({"content": delta_text(number)})) for number in range(count))


@lru_cache(maxsize=8)
def _tools_body(count: int) -> bytes:
    """The calls begin one after the other, then their fragments take turns."""
    arguments = call_arguments(count // CALLS)
    begins = (_event(_call_begin(index)) for index in range(CALLS))
    fragments = (
        _event(_call_fragment(index, arguments[start : start + DELTA_CHARS]))
        for start in range(0, len(arguments), DELTA_CHARS)
        for index in range(CALLS)
    )
    return HEAD + b"".join(map(_chunk, chain(begins, fragments))) + _end("tool_calls")


def _call_begin(index: int) -> dict[str, Any]:
    function = {"name": "note", "arguments": ""}
    call = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
    return {"tool_calls": [call]}


def _call_fragment(index: int, fragment: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": fragment}}]}


def _end(reason: str) -> bytes:
    counts = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    usage = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1700000000}
    usage |= {"model": "bench-model", "choices": [], "usage": counts}
    events = (_event({}, reason), _data(json.dumps(usage)), _data("[DONE]"))
    return b"".join(map(_chunk, events)) + END_OF_BODY


def _event(delta: dict[str, Any], reason: str | None = None, padding: str = "") -> bytes:
    payload: dict[str, Any] = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "bench-model",
        "system_fingerprint": "fp_bench",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
    }
    if padding:
        payload["obfuscation"] = padding
    return _data(json.dumps(payload, separators=(",", ":"), ensure_ascii=False))


def _data(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


if __name__ == "__main__":
    main()
