"""The server's bytes can be read by any client, though they are cut at odd places."""

import json
import socket
from threading import Thread

import pytest
import requests

from claw.demo.script import TASK, USED_TOOLS, Call, Reply
from claw.demo.server import DemoServer
from claw.demo.wire import bursts

REPLY = Reply(
    "It’s “fixed” → done.",
    [Call("edit_file", {"path": "ä.py", "text": 'say "hi"\n'}), Call("bash", {"command": "true"})],
)


def pieces_of(reply):
    return [piece for burst in bursts(reply, 400, 1) for piece in burst.pieces]


def chunks_of(body: bytes):
    events = [event for event in body.decode().split("\r\n\r\n") if event.startswith("data: ")]
    assert events.pop() == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


def assemble(chunks):
    """(text, [(name, arguments)], finish reason), as the crudest client would."""
    text, calls, finish = "", {}, None
    for chunk in chunks:
        for choice in chunk["choices"]:
            text += choice["delta"].get("content") or ""
            finish = choice["finish_reason"] or finish
            for delta in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(delta["index"], {"name": "", "arguments": ""})
                for key, value in delta["function"].items():
                    call[key] += value
    return text, [(c["name"], json.loads(c["arguments"])) for c in calls.values()], finish


@pytest.fixture
def server():
    with DemoServer("python3 -m unittest", pace=0) as running:
        yield running


def ask(server, messages, session=requests, **options):
    tools = [{"type": "function", "function": {"name": name}} for name in USED_TOOLS]
    body = {"model": "any", "messages": messages, "tools": tools, "stream": True}
    url = f"{server.base_url}/chat/completions"
    return session.post(url, json=body, timeout=10, **options)


def test_the_pieces_are_cut_at_every_odd_place():
    pieces = pieces_of(REPLY)
    assert any(piece[-1] >= 0xC0 for piece in pieces), "inside a UTF-8 sequence"
    assert any(piece.endswith(b"\\") for piece in pieces), "inside an escape"
    assert any(piece.endswith(b"\r") for piece in pieces), "between CR and LF"
    assert not any(b"\r\n" in piece for piece in pieces)


def test_the_pieces_make_up_the_reply():
    body = b"".join(pieces_of(REPLY))
    assert body.startswith(b": ")
    calls = [(call.name, call.arguments) for call in REPLY.calls]
    assert assemble(chunks_of(body)) == (REPLY.text, calls, "tool_calls")


def test_the_calls_come_interleaved():
    chunks = chunks_of(b"".join(pieces_of(REPLY)))
    deltas = [d for c in chunks for ch in c["choices"] for d in ch["delta"].get("tool_calls", ())]
    assert [delta["index"] for delta in deltas][:6] == [0, 1, 0, 1, 0, 1]


def test_usage_comes_in_a_chunk_of_its_own_behind_the_finish_reason():
    finish, usage = chunks_of(b"".join(pieces_of(REPLY)))[-2:]
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["choices"] == []
    assert usage["usage"]["prompt_tokens"] == 100


def test_requests_reads_two_replies_on_one_connection(server):
    with requests.Session() as session:
        for _ in range(2):
            answer = ask(server, [{"role": "user", "content": TASK}], session)
            assert answer.headers["Content-Type"] == "text/event-stream"
            _, calls, finish = assemble(chunks_of(answer.content))
            assert [name for name, _ in calls] == ["read_file", "read_file"]
            assert finish == "tool_calls"
    assert server.failure is None


def test_a_wrong_request_is_refused_in_words_and_remembered(server):
    answer = ask(server, [{"role": "tool", "tool_call_id": "x", "content": ""}])
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == server.failure
    assert "begin with a user message" in server.failure


def test_a_body_that_is_no_request_is_refused(server):
    url = f"{server.base_url}/chat/completions"
    for body in (b"", b"{", b"[]", b"{}", b'{"messages": 1}'):
        assert requests.post(url, data=body, timeout=10).status_code == 400
    assert requests.post(f"{server.base_url}/messages", data=b"", timeout=10).status_code == 404


def test_it_closes_while_it_streams_and_while_a_connection_is_idle():
    with DemoServer("true", pace=1000) as server:  # the first word would take minutes
        idle = socket.create_connection(("127.0.0.1", server.server_address[1]))
        answer = ask(server, [{"role": "user", "content": TASK}], stream=True)
        assert next(answer.iter_content(None)) == b": keep-alive\r"
    assert idle.recv(1) == b""
    idle.close()
    answer.close()


def test_a_client_that_goes_away_is_no_failure():
    with DemoServer("true", pace=0) as server:
        threads = [Thread(target=leave, args=(server,)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.failure is None


def leave(server):
    ask(server, [{"role": "user", "content": TASK}], stream=True).close()
