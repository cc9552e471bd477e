"""No key gets into a file, whatever printed it."""

from __future__ import annotations

import pytest

from claw.messages import Message, OpaqueBlock, TextBlock, ToolCall, ToolResult
from claw.store import SessionStore
from tests.support.storing import file_of

KEY = "sk-0123456789abcdefghij"


@pytest.mark.parametrize("key", [KEY, 'a"b\\c-quoted-key', "eight888"])
def test_a_key_is_masked_wherever_it_stands(key: str, store: SessionStore) -> None:
    store = SessionStore(store.folder, secrets=[key, ""])
    call = ToolCall("c1", "bash", {"command": f"echo {key}", key: [{"name": key}]})
    with store.new(f"/{key}", "m") as session:
        session.append(Message.user(f"my key is {key}"))
        session.append(Message.assistant(TextBlock(key), call, OpaqueBlock({"id": key})))
        session.call_ended(call, ToolResult("c1", f"KEY={key}\n" * 3))
        session.append(Message.tool(ToolResult("c1", f"KEY={key}\n" * 3)))
        session.compact([Message.user(f"it was {key}")], kept=0)
        assert key in session.messages[0].text  # the conversation itself has it
    text = file_of(store, str(session.id)).read_text()
    assert key not in text
    assert key.replace("\\", "\\\\").replace('"', '\\"') not in text
    assert "KEY=[key]" in text
    assert store.load(str(session.id)).session.messages == (Message.user("it was [key]"),)
    assert store.find(str(session.id)).title == "my key is [key]"


def test_the_start_of_a_key_that_was_cut_off_is_masked(store: SessionStore) -> None:
    store = SessionStore(store.folder, secrets=[KEY])
    with store.new("/work", "m") as session:
        session.append(Message.user(f"{KEY[:15]} and {KEY[:11]}"))
    [message] = store.load(str(session.id)).session.messages
    assert message.text == f"[key] and {KEY[:11]}"


@pytest.mark.parametrize("key", ["assistant", "tool_call", "lm-studio", "[key][key]"])
def test_a_key_like_a_word_of_the_format_breaks_nothing(key: str, store: SessionStore) -> None:
    store = SessionStore(store.folder, secrets=[key])
    said = [
        Message.user("go"),
        Message.assistant(ToolCall("assistant", "tool_call")),
        Message.tool(ToolResult("assistant", f"an {key}")),
    ]
    with store.new("/work", key) as session:
        for message in said:
            session.append(message)
    replayed = store.load(str(session.id))
    assert replayed.notices() == []
    assert replayed.session.messages[:2] == tuple(said[:2])
    assert replayed.session.messages[2].tool_results[0].content == "an [key]"


def test_short_values_are_ordinary_words(store: SessionStore) -> None:
    store = SessionStore(store.folder, secrets=["none", "ollama"])
    with store.new("/work", "m") as session:
        session.append(Message.user("none of ollama"))
    assert store.find(str(session.id)).title == "none of ollama"
