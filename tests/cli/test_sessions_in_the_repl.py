"""Sessions as a person in a conversation meets them: kept, gone on with, forked, taken back."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from claw.engine.summary import INTRODUCTION
from claw.messages import Message, TextBlock
from claw.store import SessionStore
from tests.support.command import Shell
from tests.support.peer import Peer, Request
from tests.support.pty import Terminal
from tests.support.repl import PROMPT, Model, Start, ask, enter, leave
from tests.support.server import Server, reply, serve
from tests.support.wire import history_fault

SESSION_ID = r"\d{8}-\d{6}-\w+"


class SummingModel(Model):
    """Writes a summary when asked for one, and refuses what a strict server would refuse."""

    def __call__(self, peer: Peer, request: Request) -> None:
        fault = history_fault(request.messages)
        if fault:
            peer.error(400, f"invalid history: {fault}")
        else:
            super().__call__(peer, request)

    def _Write(self, peer: Peer, request: Request, words: str) -> None:
        reply("## Goal\nto greet everybody")(peer, request)


@pytest.fixture
def model() -> Model:
    return SummingModel()


@pytest.fixture
def work(home: Path) -> Path:
    return home.parent / "work"


@pytest.fixture
def store(home: Path) -> SessionStore:
    return SessionStore(home / "sessions")


def said(server: Server, request: int = -1) -> list[str]:
    """What the request holds of the conversation."""
    return [m["content"] for m in server.requests[request].messages if m["role"] != "system"]


def texts(store: SessionStore, session_id: str = "") -> list[str]:
    """The conversation on the disk; by default that of the only session."""
    if not session_id:
        [info] = store.list()
        session_id = info.id
    return [message.text for message in store.load(session_id).session.messages]


def saved(store: SessionStore, work: Path, *prompts: str) -> str:
    """A session of the workspace in which each prompt was answered; its id."""
    with store.new(work, "scripted") as session:
        for prompt in prompts:
            session.append(Message.user(prompt))
            session.append(Message.assistant(TextBlock(f"You said {prompt}")))
    return str(session.id)


# --- kept, and gone on with ---------------------------------------------------------------------


def test_a_conversation_is_on_the_disk_after_each_turn(
    start: Start, store: SessionStore, work: Path
) -> None:
    with start("extra") as terminal:
        assert store.list() == []
        ask(terminal, "one")
        assert texts(store) == ["one", "You said one"]
        ask(terminal, "two")
        assert texts(store) == ["one", "You said one", "two", "You said two"]
        leave(terminal)
    [info] = store.list()
    assert (info.cwd, info.model, info.title) == (str(work), "scripted", "one")
    file = store.folder / f"{info.id}.jsonl"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("flavour", ["extra", "bare"])
def test_continue_goes_on_with_the_last_session_of_the_folder(
    flavour: str, start: Start, server: Server, store: SessionStore, work: Path
) -> None:
    saved(store, work, "earlier")
    last = saved(store, work, "one")
    saved(store, work.parent, "elsewhere")
    with start(flavour, "-c") as terminal:
        ask(terminal, "two")
        leave(terminal)
    assert said(server) == ["one", "You said one", "two"]
    assert texts(store, last) == ["one", "You said one", "two", "You said two"]
    assert len(store.list()) == 3


def test_resume_takes_the_beginning_of_an_id(
    start: Start, server: Server, store: SessionStore, work: Path
) -> None:
    wanted = saved(store, work.parent, "of another folder")
    saved(store, work, "one")
    with start("extra", "--resume", wanted.rpartition("-")[2][:5]) as terminal:
        ask(terminal, "two")
        leave(terminal)
    assert said(server) == ["of another folder", "You said of another folder", "two"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--resume", "zzz"], "there is no session zzz: `claw sessions list` shows them"),
        (["-c"], "there is no session of {work} to go on with"),
        (["-c", "--no-session"], "--no-session keeps nothing: --resume and --continue don't"),
    ],
)
def test_what_cannot_be_gone_on_with_is_one_line(
    options: list[str], line: str, shell: Shell
) -> None:
    done = shell.claw("run", "go", *options, "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"claw: {line.format(work=shell.folder)}")
    assert done.err.count("\n") == 1


def test_a_wrong_id_ends_the_repl_before_it_begins(shell: Shell) -> None:
    (shell.home / "trust.json").write_text(json.dumps({str(shell.folder.resolve()): True}))
    argv = shell.command("--resume", "zzz", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    with Terminal.running(argv, cwd=shell.folder, env=shell.environ(TERM="xterm")) as terminal:
        assert terminal.wait_exit() == 2
        terminal.wait_for("^claw: there is no session zzz: `claw sessions list` shows them$")
        assert "claw>" not in terminal.text


def test_no_session_leaves_no_file(start: Start, store: SessionStore) -> None:
    with start("extra", "--no-session") as terminal:
        ask(terminal, "one")
        enter(terminal, "/resume", "nothing of this conversation is kept on disk")
        enter(terminal, "/export", "nothing of this conversation is kept on disk")
        enter(terminal, "/fork 1", "^a new session with 0 messages$")
        terminal.wait_for("^claw> one$")
        terminal.type("\r")
        terminal.wait_for("^You said one$")
        terminal.wait_for(PROMPT)
        leave(terminal)
    assert not store.folder.exists()


def test_a_session_that_another_claw_has_open_is_copied(
    start: Start, server: Server, store: SessionStore
) -> None:
    with start("extra") as first:
        ask(first, "one")
        [info] = store.list()
        with start("extra", "--resume", info.id) as second:
            told = second.wait_for(
                rf"session {info.id} is open in another claw: "
                rf"this is a copy of\s+it, ({SESSION_ID})$"
            )
            ask(second, "two")
            assert said(server) == ["one", "You said one", "two"]
            leave(second)
        ask(first, "three")
        assert said(server) == ["one", "You said one", "three"]
        leave(first)
    assert texts(store, info.id) == ["one", "You said one", "three", "You said three"]
    assert texts(store, told[1]) == ["one", "You said one", "two", "You said two"]
    assert store.find(told[1]).parent == info.id


# --- /resume, /fork, /export --------------------------------------------------------------------


def test_resume_lists_sessions_and_opens_one(
    start: Start, server: Server, store: SessionStore, work: Path
) -> None:
    first = saved(store, work, "one")
    with start("extra") as terminal:
        ask(terminal, "here")
        enter(terminal, "/resume", "^/resume N goes on with one$")
        assert [line[:4] for line in terminal.text.split("\n") if "  /" in line] == ["*  1", "   2"]
        enter(terminal, "/resume 1", "^this is that session$")
        enter(terminal, "/resume zzz", "there is no session zzz")
        enter(terminal, "/resume 2", f"^session {first}, 2 messages: one$")
        ask(terminal, "two")
        assert said(server) == ["one", "You said one", "two"]
        leave(terminal)
    assert texts(store, first)[2:] == ["two", "You said two"]


def test_fork_begins_a_new_session_before_a_prompt(
    start: Start, server: Server, store: SessionStore
) -> None:
    with start("extra") as terminal:
        enter(terminal, "/fork", "^nothing was said yet$")
        ask(terminal, "one")
        ask(terminal, "two")
        [info] = store.list()
        enter(terminal, "/fork", "^/fork N goes on from there$")
        assert "   1  one\n   2  two\n" in terminal.text
        enter(terminal, "/fork 3", "there is no prompt 3")
        enter(terminal, "/fork 2", "^a new session with 2 messages$")
        terminal.wait_for("^claw> two$")
        terminal.type(" more\r")
        terminal.wait_for("^You said two more$")
        terminal.wait_for(PROMPT)
        leave(terminal)
    assert said(server) == ["one", "You said one", "two more"]
    [fork] = [each for each in store.list() if each.id != info.id]
    assert (fork.parent, fork.parent_length) == (info.id, 2)
    assert texts(store, fork.id)[2:] == ["two more", "You said two more"]
    assert texts(store, info.id)[2:] == ["two", "You said two"]


def test_a_prompt_behind_a_turn_that_was_interrupted_in_a_call_can_be_forked_from(
    start: Start, work: Path
) -> None:
    with start("extra", "--approve", "all") as terminal:
        interrupted_in_a_call(terminal, work)
        ask(terminal, "two")
        enter(terminal, "/fork", "^   2  two$")
        enter(terminal, "/fork 2", "^a new session with 3 messages$")
        terminal.wait_for("^claw> two$")
        terminal.type("\x03")
        leave(terminal)


def test_a_plan_is_forked_from_as_it_was_typed(start: Start) -> None:
    with start("extra") as terminal:
        ask(terminal, "/plan look around", "^You said look around$")
        enter(terminal, "/fork", "^   1  look around$")
        enter(terminal, "/fork 1", "^a new session")
        terminal.wait_for("^claw> look around$")
        terminal.type("\x03")
        leave(terminal)


@pytest.mark.parametrize("flavour", ["extra", "plain", "bare"])
def test_a_prompt_that_comes_back_is_fit_for_a_terminal(
    flavour: str, start: Start, store: SessionStore, work: Path
) -> None:
    saved(store, work, "a\x1b]52;c;aGk=\x07b\u202ec")
    with start(flavour, "-c") as terminal:
        enter(terminal, "/fork 1", "^a new session with 0 messages$")
        terminal.wait_for("^claw> abc$")
        terminal.type("\r")
        terminal.wait_for("^You said abc$")
        terminal.wait_for(PROMPT)
        leave(terminal)
    assert "]52;" not in terminal.transcript


def test_export_writes_a_new_file(start: Start, work: Path) -> None:
    with start("extra") as terminal:
        enter(terminal, "/export talk.md", "^nothing was said yet$")
        ask(terminal, "one")
        enter(terminal, "/export talk.md", "^written to talk.md$")
        markdown = (work / "talk.md").read_text()
        assert stat.S_IMODE((work / "talk.md").stat().st_mode) == 0o600
        assert markdown.startswith("# one\n")
        assert markdown.endswith("\n## User\n\none\n\n## Assistant\n\nYou said one\n")
        ask(terminal, "two")
        enter(terminal, "/export talk.md", "^claw: talk.md is there already: name a new file$")
        assert (work / "talk.md").read_text() == markdown
        enter(terminal, "/export talk.json", "^written to talk.json$")
        assert len(json.loads((work / "talk.json").read_text())["messages"]) == 4
        leave(terminal)


def test_export_shows_nothing_hostile(start: Start) -> None:
    with start("plain") as terminal:
        ask(terminal, "evil", "^safe  words")
        enter(terminal, "/export", "^## Assistant$")
        leave(terminal)
    assert not set("\x07\u202e") & set(terminal.transcript)
    assert "]52;" not in terminal.transcript


# --- /undo, /compact, /clear --------------------------------------------------------------------


def interrupted_in_a_call(terminal: Terminal, work: Path) -> None:
    """A turn that Ctrl-C ends while its command runs."""
    enter(terminal, "bash touch begun; sleep 60")
    terminal.wait_until((work / "begun").exists)
    terminal.type("\x03")
    terminal.wait_for(r"^\[interrupted\]$")
    terminal.wait_for(PROMPT)


def test_undo_takes_the_last_turn_out_of_the_conversation(
    start: Start, server: Server, store: SessionStore, work: Path
) -> None:
    new = work / "new.txt"
    with start("extra", "--approve", "all") as terminal:
        ask(terminal, "write first", "^Told: created new.txt")
        ask(terminal, "write second", "^Told: overwrote new.txt")
        ask(terminal, "hello")
        enter(terminal, "/undo", "^no longer part of the conversation: hello$")
        assert new.read_text() == "second"
        assert len(texts(store)) == 8
        enter(terminal, "/undo", "^no longer part of the conversation: write second$")
        assert new.read_text() == "first"
        assert len(texts(store)) == 4
        ask(terminal, "three")
        assert said(server)[0] == "write first"
        assert "write second" not in said(server)
        assert len(said(server)) == 5
        enter(terminal, "/undo", "^no longer part of the conversation: three$")
        assert new.read_text() == "first"
        enter(terminal, "/undo", "^no longer part of the conversation: write first$")
        assert not new.exists()
        enter(terminal, "/undo", "^there is no turn to take back$")
        assert texts(store) == []
        leave(terminal)


def test_undo_behind_a_turn_that_was_interrupted_in_a_call(
    start: Start, store: SessionStore, work: Path
) -> None:
    with start("extra", "--approve", "all") as terminal:
        interrupted_in_a_call(terminal, work)
        ask(terminal, "two")
        enter(terminal, "/undo", "^no longer part of the conversation: two$")
        assert len(texts(store)) == 3
        enter(terminal, "/undo", "^no longer part of the conversation: bash touch begun; sleep 60$")
        assert texts(store) == []
        leave(terminal)


def test_undo_in_a_session_that_was_gone_on_with(
    start: Start, server: Server, store: SessionStore, work: Path
) -> None:
    """It takes back what was said before this sitting, too."""
    saved(store, work, "one", "two")
    with start("extra", "-c") as terminal:
        enter(terminal, "/undo", "^no longer part of the conversation: two$")
        ask(terminal, "three")
        assert said(server) == ["one", "You said one", "three"]
        leave(terminal)


def test_compact_puts_a_summary_in_the_place_of_the_conversation(
    start: Start, server: Server, store: SessionStore
) -> None:
    with start("extra", "--approve", "all") as terminal:
        enter(terminal, "/compact", "^note: there is nothing to compact yet$")
        for count in (2001, 2002):
            ask(terminal, f"bash seq {count}", "^Told:")
        ask(terminal, "three")
        enter(terminal, "/compact keep the numbers", "^note: compacted: about")
        assert "keep the numbers" in said(server)[0]
        ask(terminal, "four")
        summary = f"{INTRODUCTION}\n\n## Goal\nto greet everybody"
        assert said(server) == [f"{summary}\n\nthree", "You said three", "four"]
        assert texts(store) == [summary, "three", "You said three", "four", "You said four"]
        enter(terminal, "/undo", "^no longer part of the conversation: four$")
        assert len(texts(store)) == 3
        leave(terminal)
    with start("extra", "-c") as terminal:
        ask(terminal, "five")
        assert said(server)[0].startswith(INTRODUCTION)
        assert said(server)[-2:] == ["You said three", "five"]
        leave(terminal)


def test_undo_leaves_a_summary_alone(start: Start, store: SessionStore, work: Path) -> None:
    with store.new(work, "scripted") as session:
        session.append(Message.user(f"{INTRODUCTION}\n\nmuch was said"))
        session.append(Message.assistant(TextBlock("and answered")))
    with start("extra", "-c") as terminal:
        enter(terminal, "/undo", "^there is no turn to take back$")
        leave(terminal)
    assert len(texts(store)) == 2


def test_clear_is_on_the_disk_too(start: Start, server: Server, store: SessionStore) -> None:
    with start("extra") as terminal:
        ask(terminal, "one")
        enter(terminal, "/clear", "^the conversation is empty")
        assert texts(store) == []
        enter(terminal, "/undo", "^there is no turn to take back$")
        ask(terminal, "two")
        assert said(server) == ["two"]
        leave(terminal)
    assert texts(store) == ["two", "You said two"]


# --- claw run -----------------------------------------------------------------------------------


def test_a_run_is_a_session_that_the_next_one_can_go_on_with(shell: Shell) -> None:
    store = SessionStore(shell.home / "sessions")
    with serve(reply("first answer"), reply("second answer")) as server:
        variables = {"CLAW_BASE_URL": server.url, "CLAW_MODEL": "m"}
        one = shell.claw("run", "one", "--output", "json", **variables).envelope
        [info] = store.list()
        assert one["session"] == info.id
        assert texts(store) == ["one", "first answer"]
        two = shell.claw("run", "-c", "two", "--output", "json", **variables).envelope
        assert two["session"] == info.id
        assert said(server) == ["one", "first answer", "two"]
    assert texts(store) == ["one", "first answer", "two", "second answer"]


def test_a_run_without_a_session_leaves_no_file(shell: Shell) -> None:
    with serve(reply("answer")) as server:
        variables = {"CLAW_BASE_URL": server.url, "CLAW_MODEL": "m"}
        done = shell.claw("run", "one", "--no-session", "--output", "json", **variables)
    assert done.envelope["session"] is None
    assert not (shell.home / "sessions").exists()
