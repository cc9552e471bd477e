"""Reading a session file: whatever stands in it, no good line is lost and nothing raises."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.errors import ConfigError
from claw.messages import Message, ToolCall
from claw.store import SessionInfo, SessionStore
from claw.store.export import FORMS
from claw.store.records import encoded, message_record
from claw.store.replay import APPLY, Replayed, replay
from tests.support.storing import check_whole, file_of, worked, working_engine

HEADER = {"type": "session", "version": 1, "id": "x"}


def read(*lines: bytes | dict[str, Any], **options: Any) -> Replayed:
    data = b"".join(line if isinstance(line, bytes) else encoded(line) for line in lines)
    return replay(io.BytesIO(data), **options)


def said(text: str) -> bytes:
    return encoded(message_record(Message.user(text)))


def texts(replayed: Replayed) -> list[str]:
    return [message.text for message in replayed.session.messages]


# --- damage --------------------------------------------------------------------------------------


def test_foreign_lines_cost_themselves_and_are_told_in_one_line() -> None:
    replayed = read(HEADER, said("one"), b"\xff\x00 what\n", b"\n", b"[1]\n", said("two"))
    assert texts(replayed) == ["one", "two"]
    [notice] = replayed.notices()
    assert "2 lines" in notice
    assert "3, 5" in notice


def test_a_record_cut_off_at_the_end_is_told_as_that() -> None:
    replayed = read(HEADER, said("one"), said("two")[:-9])
    assert texts(replayed) == ["one"]
    [notice] = replayed.notices()
    assert "cut off" in notice


def test_a_last_record_that_lacks_its_line_end_alone_is_whole() -> None:
    replayed = read(HEADER, said("one"), said("two")[:-1])
    assert texts(replayed) == ["one", "two"]
    assert replayed.notices() == []
    assert not replayed.ends_whole


def test_damage_is_told_once(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        session.append(Message.user("one"))
    assert session.id is not None
    with open(file_of(store, session.id), "ab") as file:
        file.write(b"not a record\n")
    with store.open(session.id) as second:
        assert len(second.notices) == 1
    with store.open(session.id) as third:
        assert third.notices == []
        assert texts_of(third.messages) == ["one"]


def texts_of(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages]


def test_without_its_header_a_session_is_readable(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        session.append(Message.user("one"))
    assert session.id is not None
    file = file_of(store, session.id)
    file.write_bytes(b"#" + file.read_bytes())
    [info] = store.list()
    assert (info.id, info.cwd, info.title) == (session.id, "", "")
    with store.open(session.id) as again:
        assert texts_of(again.messages) == ["one"]


@pytest.mark.parametrize("index", range(14))
def test_any_one_lost_line_leaves_a_history_that_can_be_sent(
    index: int, store: SessionStore
) -> None:
    with store.new("/work", "m") as session:
        working_engine().run(session, "prompt 0")
    assert session.id is not None
    file = file_of(store, session.id)
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 14
    file.write_bytes(b"".join([*lines[:index], b"{broken\n", *lines[index + 1 :]]))
    with store.open(session.id) as again:
        check_whole(again.messages)
        whole = worked(1)
        kept = [message for message in again.messages if message in whole]
        assert len(kept) >= len(whole) - 2
        working_engine().run(again, "go on")
        check_whole(again.messages)


# --- versions ------------------------------------------------------------------------------------


def test_a_newer_format_is_refused_with_words() -> None:
    with pytest.raises(ConfigError, match=r"newer claw \(format 2.*update claw"):
        read({**HEADER, "version": 2}, said("one"))


def test_an_older_format_is_brought_up_line_by_line() -> None:
    """Version 1 is the first; this one is made up, to prove the way that a later one will go."""

    def from_version_0(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "type": {"say": "message"}.get(record["type"], record["type"])}

    older = {**message_record(Message.user("old")), "type": "say"}
    lines = ({**HEADER, "version": 0}, older, HEADER, said("new"))
    replayed = read(*lines, upgrades={0: from_version_0})
    assert texts(replayed) == ["old", "new"]
    assert replayed.notices() == []
    assert replayed.version == 1


@pytest.mark.parametrize("version", [0, -3, "1", None])
def test_a_version_that_never_was_is_a_foreign_line(version: Any) -> None:
    replayed = read({**HEADER, "version": version}, said("one"))
    assert texts(replayed) == ["one"]
    assert len(replayed.notices()) == 1


# --- anything ------------------------------------------------------------------------------------

REMOVING = {"cleared", "rewound", "compacted"}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "blocks", "text", "id", "name", "call_id", "arguments"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
fields = st.dictionaries(
    st.sampled_from(["role", "blocks", "id", "call_id", "content", "usage", "is_error", "model"]),
    json_values,
    max_size=5,
)
odd_records = st.builds(
    lambda kind, rest: encoded({"type": kind, **rest}),
    st.sampled_from(sorted(APPLY.keys() - REMOVING)),
    fields,
)
asking = st.lists(st.sampled_from("ab"), max_size=3).map(
    lambda ids: encoded(message_record(Message.assistant(*(ToolCall(each, "x") for each in ids))))
)
journal = st.builds(
    lambda kind, call: encoded({"type": kind, "id": call, "call_id": call, "content": "r\nr"}),
    st.sampled_from(["call_started", "call_ended", "results"]),
    st.sampled_from("ab"),
)
bytes_lines = st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"") + b"\n")
cut_records = st.builds(lambda n: said("cut")[:n] + b"\n", st.integers(0, 40))
json_lines = json_values.map(lambda value: json.dumps(value).encode() + b"\n")
garbage = st.one_of(bytes_lines, json_lines, odd_records, asking, journal, cut_records)


@given(st.lists(st.one_of(garbage, st.just(None)), max_size=25), st.binary(max_size=10))
def test_no_garbage_raises_and_no_good_line_is_lost(drawn: list[bytes | None], tail: bytes) -> None:
    good = iter(f"good {number}" for number in range(len(drawn)))
    lines = [said(next(good)) if line is None else line for line in drawn]
    replayed = read(HEADER, *lines, tail)
    found = [text for text in texts(replayed) if text.startswith("good ")]
    assert found == [f"good {number}" for number in range(drawn.count(None))]
    check_whole(replayed.session.messages)
    for form in FORMS.values():
        assert "".join(form(SessionInfo("x"), replayed))
    assert all("\n" not in line for line in replayed.notices())


def test_nesting_without_end_is_a_foreign_line() -> None:
    replayed = read(HEADER, b"[" * 100_000 + b"\n", said("one"))
    assert texts(replayed) == ["one"]
