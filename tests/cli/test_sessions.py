"""`claw sessions`: list, show, rm, export, in a process of their own."""

from __future__ import annotations

import json
import stat

import pytest

from claw.messages import Message, TextBlock, ToolCall, ToolResult
from claw.store import SessionStore
from tests.support.command import Shell
from tests.support.pty import Terminal
from tests.support.storing import file_of

HOSTILE = "before \x1b]52;c;aGk=\x07\x1b[2J\u202e after"


def store_of(shell: Shell) -> SessionStore:
    return SessionStore(shell.home / "sessions")


def saved(shell: Shell, text: str = "list the files") -> str:
    """A session with one call in it; its id."""
    with store_of(shell).new("/work/project", "model-1") as session:
        session.append(Message.user(text))
        session.append(Message.assistant(TextBlock("I look."), ToolCall("c", "bash", {"a": "ls"})))
        session.append(Message.tool(ToolResult("c", "\n".join(f"file {n}" for n in range(30)))))
        session.append(Message.assistant(TextBlock("There are 30.")))
    return str(session.id)


def test_without_sessions_it_says_so(shell: Shell) -> None:
    done = shell.claw("sessions", "list")
    assert (done.code, done.out) == (0, "")
    assert done.err == "claw: there are no sessions\n"
    assert list(shell.home.iterdir()) == []


def test_list_has_a_line_for_each(shell: Shell) -> None:
    session_id = saved(shell)
    [line] = shell.claw("sessions", "list").out.splitlines()
    assert line.startswith(session_id)
    for shown in ("/work/project", "model-1", "1 kB", "list the files"):
        assert shown in line


def test_list_as_json(shell: Shell) -> None:
    session_id = saved(shell)
    [session] = json.loads(shell.claw("sessions", "list", "--json").out)["sessions"]
    assert session["id"] == session_id
    assert (session["cwd"], session["title"]) == ("/work/project", "list the files")
    assert session["size"] == file_of(store_of(shell), session_id).stat().st_size


def test_list_can_search(shell: Shell) -> None:
    session_id = saved(shell)
    saved(shell, "something else")
    [line] = shell.claw("sessions", "list", "--search", "LIST the").out.splitlines()
    assert line.startswith(session_id)
    assert shell.claw("sessions", "list", "--search", "zebra").err == (
        "claw: nothing was found: zebra\n"
    )


def test_show_prints_the_conversation(shell: Shell) -> None:
    session_id = saved(shell)
    done = shell.claw("sessions", "show", session_id[-6:])
    assert done.out == (
        "\n> list the files\n\nI look.\n\n[bash ls]\n"
        "  file 0\n  file 1\n  file 2\n  file 3\n  ... 24 more lines\n  file 28\n  file 29\n"
        "\nThere are 30.\n"
    )
    assert done.err == ""


@pytest.mark.parametrize("command", ["list", "show"])
def test_nothing_hostile_reaches_the_terminal(command: str, shell: Shell) -> None:
    session_id = saved(shell, HOSTILE)
    done = shell.claw("sessions", command, *([session_id] if command == "show" else []))
    assert "before" in done.out
    assert not set("\x1b\x07\u202e") & set(done.out)


def test_show_tells_what_was_lost(shell: Shell) -> None:
    session_id = saved(shell)
    with open(file_of(store_of(shell), session_id), "ab") as file:
        file.write(b"{torn")
    done = shell.claw("sessions", "show", session_id)
    assert "cut off in the middle" in done.err
    assert "There are 30." in done.out


def test_an_unknown_id_is_one_line(shell: Shell) -> None:
    done = shell.claw("sessions", "show", "zzz")
    assert (done.code, done.out) == (2, "")
    assert done.err == "claw: there is no session zzz: `claw sessions list` shows them\n"


def test_rm_needs_an_answer_or_yes(shell: Shell) -> None:
    session_id = saved(shell)
    file = file_of(store_of(shell), session_id)
    done = shell.claw("sessions", "rm", session_id)
    assert done.code == 2
    assert "--yes" in done.err
    assert file.exists()
    assert shell.claw("sessions", "rm", "--yes", session_id).code == 0
    assert not file.exists()


@pytest.mark.parametrize("answer", ["y", "n"])
def test_rm_asks_in_a_terminal(answer: str, shell: Shell) -> None:
    session_id = saved(shell)
    argv = shell.command("sessions", "rm", session_id)
    with Terminal.running(argv, cwd=shell.folder, env=shell.environ(TERM="xterm")) as terminal:
        terminal.wait_for(r"list the files\s+Remove this session for good\? \[y/n\]")
        terminal.type(answer)
        assert terminal.wait_exit() == 0
    assert file_of(store_of(shell), session_id).exists() == (answer == "n")


def test_export_to_standard_output_and_to_a_private_file(shell: Shell) -> None:
    session_id = saved(shell)
    markdown = shell.claw("sessions", "export", session_id).out
    assert markdown.startswith("# list the files\n")
    exported = json.loads(shell.claw("sessions", "export", session_id, "--format", "json").out)
    assert len(exported["messages"]) == 4
    file = shell.folder / "told.md"
    assert shell.claw("sessions", "export", session_id, "--to", "told.md").code == 0
    assert file.read_text() == markdown
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_export_replaces_no_file(shell: Shell) -> None:
    session_id = saved(shell)
    file = shell.folder / "mine.md"
    file.write_text("mine")
    done = shell.claw("sessions", "export", session_id, "--to", "mine.md")
    assert (done.code, done.err) == (2, "claw: mine.md is there already: name a new file\n")
    assert file.read_text() == "mine"
