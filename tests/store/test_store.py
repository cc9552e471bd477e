"""The folder of sessions: named, found, listed, copied, removed, searched, exported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claw.errors import ConfigError, HistoryError
from claw.messages import Message, ToolCall, ToolResult
from claw.session import Session
from claw.store import SessionStore, StoredSession
from claw.store.ids import ID, matching, new_id
from tests.support.storing import file_of, two_calls, worked, working_engine

ROOT = Path(__file__).parents[2]


def saved(store: SessionStore, *texts: str, cwd: str = "/work", used: float = 0) -> str:
    """A session in which `texts` were said, its file last written at `used`; its id."""
    with store.new(cwd, "m") as session:
        for text in texts:
            session.append(Message.user(text))
    assert session.id is not None
    if used:
        os.utime(file_of(store, session.id), (used, used))
    return session.id


# --- names ---------------------------------------------------------------------------------------


def test_ids_are_sorted_by_time_and_unlike() -> None:
    ids = [new_id() for _ in range(200)]
    assert len(set(ids)) == 200
    assert all(ID.fullmatch(each) for each in ids)
    times = [each[:-4] for each in ids]
    assert times == sorted(times)


def test_the_beginning_of_an_id_or_of_its_tail_is_enough() -> None:
    ids = ["20261130-124743-5tk3f9", "20261201-080000-9a0bcd", "20261201-090000-5tzzzz"]
    assert matching("20261130", ids) == ids[:1]
    assert matching("9A0", ids) == ids[1:2]
    assert matching("5t", ids) == [ids[0], ids[2]]
    assert matching("", ids) == []
    assert matching("0-1", ids) == []


def test_what_is_not_there_and_what_is_there_twice_is_told(store: SessionStore) -> None:
    with pytest.raises(ConfigError, match="no session zzz"):
        store.open("zzz")
    first, second = sorted([saved(store, "one"), saved(store, "two")])  # maybe of one second
    with pytest.raises(ConfigError, match=f"2 sessions begin with 2: {first}, {second}"):
        store.find("2")
    assert store.find(second.rpartition("-")[2]).id == second


@pytest.mark.parametrize("prefix", ["..", "/etc/passwd", "*", "2026/../.."])
def test_an_id_is_no_path(prefix: str, store: SessionStore) -> None:
    saved(store, "one")
    with pytest.raises(ConfigError, match="no session"):
        store.load(prefix)


# --- the list ------------------------------------------------------------------------------------


def test_the_list_has_the_last_used_first(store: SessionStore) -> None:
    assert list(store.list()) == []
    old = saved(store, "the older\n  one", used=1_000)
    new = saved(store, "the newer one", "and more", used=2_000)
    (store.folder / "notes.txt").write_text("not ours")
    (store.folder / "x.jsonl").write_text("not ours")
    newer, older = store.list()
    assert (newer.id, older.id) == (new, old)
    assert (older.title, older.cwd, older.model) == ("the older one", "/work", "m")
    assert (older.updated, older.size) == (1_000, file_of(store, old).stat().st_size)


def test_a_fifo_among_the_sessions_hangs_nothing(store: SessionStore) -> None:
    kept = saved(store, "one")
    os.mkfifo(file_of(store, new_id()))
    assert [info.id for info in store.list()] == [kept]


def test_the_latest_is_that_of_the_folder(store: SessionStore) -> None:
    saved(store, "a", cwd="/a", used=1_000)
    wanted = saved(store, "b", cwd="/a", used=2_000)
    saved(store, "c", cwd="/b", used=3_000)
    latest = store.latest(Path("/a"))
    assert latest is not None
    assert latest.id == wanted
    assert store.latest("/nowhere") is None


# --- copies --------------------------------------------------------------------------------------


def test_a_fork_goes_on_from_an_earlier_message(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        for number in range(2):
            working_engine().run(session, f"prompt {number}")
    assert session.id is not None
    for source in (session, session.id):
        with store.fork(source, 4) as fork:
            assert list(fork.messages) == worked(1)
            assert (fork.header.parent, fork.header.parent_length) == (session.id, 4)
            assert (fork.header.cwd, fork.header.model) == ("/work", "m")
            assert fork.header.title == "prompt 0"
            assert list(store.load(str(fork.id)).session.messages) == worked(1)  # saved at once
            working_engine().run(fork, "prompt 1")
        assert list(store.load(str(fork.id)).session.messages) == worked(2)
    assert list(store.load(session.id).session.messages) == worked(2)
    with store.fork(session.id) as whole:
        assert whole.messages == session.messages


def test_a_session_in_memory_can_be_forked_too(store: SessionStore) -> None:
    with store.fork(Session([Message.user("one")])) as fork:
        assert fork.header.parent == ""
    assert store.find(str(fork.id)).title == "one"


@pytest.mark.parametrize("length", [-1, 2, 5])
def test_a_fork_cuts_nothing_apart(length: int, store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        working_engine().run(session, "prompt 0")
        with pytest.raises(HistoryError):
            store.fork(session, length)


# --- two processes -------------------------------------------------------------------------------

HOLD = """
import sys
from pathlib import Path
from claw.messages import Message
from claw.store import SessionStore
session = SessionStore(Path(sys.argv[1])).open(sys.argv[2])
print(session.id, flush=True)
sys.stdin.readline()
for number in range(50):
    session.append(Message.user(f"{session.id} {number}"))
session.close()
"""


@contextmanager
def holding(store: SessionStore, session_id: str) -> Iterator[subprocess.Popen[str]]:
    """A process with the session open; it says 50 things once it gets a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store.folder), session_id],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process


def test_a_second_process_gets_a_copy_and_is_told(store: SessionStore) -> None:
    original = saved(store, "one")
    with holding(store, original) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline().strip() == original
        with store.open(original) as copy:
            [notice] = copy.notices
            assert f"{original} is open in another claw" in notice
            assert copy.header.parent == original
            assert len(list(store.folder.glob("*.jsonl"))) == 1  # nothing was said in it yet
            copy.append(Message.user("from the copy"))
            with pytest.raises(ConfigError, match="open in another claw"):
                store.remove(original)
        process.stdin.write("\n")
    told = [f"{original} {number}" for number in range(50)]
    assert said_in(store, original) == ["one", *told]
    assert said_in(store, str(copy.id)) == ["one", "from the copy"]


def said_in(store: SessionStore, session_id: str) -> list[str]:
    replayed = store.load(session_id)
    assert replayed.notices() == []
    return [message.text for message in replayed.session.messages]


def test_of_many_processes_at_once_one_has_the_session(store: SessionStore) -> None:
    original = saved(store, "one")
    started = [holding(store, original) for _ in range(4)]
    processes = [each.__enter__() for each in started]
    ids = [process.stdout.readline().strip() for process in processes if process.stdout]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for each in started:
        each.__exit__(None, None, None)
    assert len(set(ids)) == 4
    assert ids.count(original) == 1
    for session_id in ids:
        told = [f"{session_id} {number}" for number in range(50)]
        assert said_in(store, session_id) == ["one", *told]


def test_once_the_first_is_closed_the_next_has_it(store: SessionStore) -> None:
    session = two_calls(store)
    assert session.id is not None
    with store.open(session.id) as copy:
        assert copy.id != session.id
    session.close()
    with store.open(session.id) as again:
        assert again.id == session.id


# --- removing, searching, exporting --------------------------------------------------------------


def test_a_removed_session_is_gone_with_all_beside_it(store: SessionStore) -> None:
    kept, gone = saved(store, "kept"), saved(store, "gone")
    key = store.blobs(gone).put(b"content")
    assert store.remove(gone).title == "gone"
    assert [info.id for info in store.list()] == [kept]
    with pytest.raises(OSError, match="No such file"):
        store.blobs(gone).get(key)
    assert len(list(store.folder.iterdir())) == 1


def test_search_finds_what_was_said_asked_for_and_answered(store: SessionStore) -> None:
    saved(store, 'He said "HELLO wörld"\nand left', used=1_000)
    with store.new("/work", "m") as session:
        session.append(Message.user("nothing here"))
        call = ToolCall("c1", "bash", {"command": "echo hello", "more": {"x": ["hello"]}})
        session.append(Message.assistant(call))
        session.call_ended(call, ToolResult("c1", "x" * 100 + " hello " + "y" * 100))
        session.clear()
    hits = list(store.search("hello"))
    assert [(hit.role, hit.info.title) for hit in hits] == [
        ("assistant", "nothing here"),
        ("tool", "nothing here"),
        ("user", 'He said "HELLO wörld" and left'),
    ]
    assert hits[1].snippet == "..." + "x" * 39 + " hello " + "y" * 39 + "..."
    assert [hit.role for hit in store.search('"hello WÖRLD"\nand')] == ["user"]
    assert list(store.search("session")) == []  # what the format is made of isn't searched
    assert list(store.search("")) == []


def test_json_export_is_the_whole_conversation(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        working_engine().run(session, "prompt 0")
    exported = json.loads("".join(store.export(str(session.id), "json")))
    assert [Message.from_dict(each) for each in exported["messages"]] == worked(1)
    assert (exported["version"], exported["id"], exported["turns"]) == (1, session.id, 1)
    assert (exported["cwd"], exported["title"]) == ("/work", "prompt 0")


def test_markdown_fences_hold_whatever_is_in_them(store: SessionStore) -> None:
    with store.new("/work", "m") as session:
        session.append(Message.user("go"))
        session.append(Message.assistant(ToolCall("c1", "bash", {"command": "cat README"})))
        session.append(Message.tool(ToolResult("c1", "```\ncode\n````\n", is_error=True)))
    text = "".join(store.export(str(session.id), "markdown"))
    assert text.startswith("# go\n\nSession ")
    assert '\n**bash**\n\n```json\n{\n "command": "cat README"\n}\n```\n' in text
    assert "\nAn error:\n\n`````\n```\ncode\n````\n`````\n" in text


def test_an_export_reads_what_a_process_has_open(store: SessionStore) -> None:
    session: StoredSession = two_calls(store)
    assert len(json.loads("".join(store.export(str(session.id), "json")))["messages"]) == 3
    assert len(session.messages) == 2
    session.close()
