"""--trace, `claw replay` and --replay: a run recorded, played again, and used without a server."""

from __future__ import annotations

import json
import signal
import stat
from pathlib import Path

import pytest

from tests.support.command import Shell, finished
from tests.support.repl import PROMPT, USAGE, Start, leave
from tests.support.server import Server, Turn, model, one_delta_then_silence, reply, serve

KEY = "sk-very-secret-0123456789"
LOOK = Turn("I look.", (("call_1", "bash", {"command": "echo found"}),))


def variables(server: Server, **more: str) -> dict[str, str]:
    return {"CLAW_BASE_URL": server.url, "CLAW_MODEL": "m", "CLAW_API_KEY": KEY, **more}


@pytest.fixture
def tape(shell: Shell) -> Path:
    """The tape of a run with a tool."""
    with serve(model(LOOK, f"It is there, {KEY}.")) as server:
        options = ("--approve", "all", "--trace", "run.tape")
        done = shell.claw("run", "Look", *options, **variables(server))
    assert done.code == 0
    return shell.folder / "run.tape"


def test_a_run_is_recorded_for_the_users_eyes_and_without_the_key(tape: Path) -> None:
    assert stat.S_IMODE(tape.stat().st_mode) == 0o600
    assert KEY not in tape.read_text()
    assert "[key]" in tape.read_text()


def test_it_replays_identically_with_no_server(shell: Shell, tape: Path) -> None:
    done = shell.claw("replay", "run.tape")
    assert done.code == 0
    assert done.out == "I look.\n\nIt is there, [key].\n"
    assert "echo found" in done.err
    assert "the replay is identical: 1 run, " in done.err


def test_it_replays_in_every_form_of_output(shell: Shell, tape: Path) -> None:
    assert shell.claw("replay", "run.tape", "--output", "json").envelope["steps"] == 2
    done = shell.claw("replay", "run.tape", "--output", "jsonl", "--quiet", "--timing", "original")
    assert [event["type"] for event in done.events].count("tool_finished") == 1
    assert done.err == ""


def test_a_difference_is_shown_and_is_a_failure(shell: Shell, tape: Path) -> None:
    words = tape.read_text()
    tape.write_text(words.replace('\\"content\\": \\"there, ', '\\"content\\": \\"where, '))
    done = shell.claw("replay", "run.tape", "--quiet")
    assert done.code == 1
    assert "claw: the replay differs from the tape in run 1, event " in done.err
    assert '\n  tape:   "there, "\n  replay: "where, "\n' in done.err


def test_the_tape_of_a_killed_run_is_replayed_as_far_as_it_goes(shell: Shell) -> None:
    with (
        serve(one_delta_then_silence) as server,
        shell.started(
            "run", "Go", "--trace", "run.tape", variables={**variables(server), "CLAW_API_KEY": ""}
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.read(3) == b"Hel"
        while "text_delta" not in (shell.folder / "run.tape").read_text():
            pass  # it is written within a tenth of a second
        process.kill()
        finished(process)
    done = shell.claw("replay", "run.tape")
    assert (done.code, done.out) == (0, "Hel\n")
    assert "the tape ends before its run did: it was replayed as far as it goes" in done.err


def test_a_ctrl_c_is_part_of_a_tape(shell: Shell) -> None:
    with (
        serve(one_delta_then_silence) as server,
        shell.started("run", "Go", "--trace", "run.tape", variables=variables(server)) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.read(3) == b"Hel"
        process.send_signal(signal.SIGINT)
        assert finished(process).code == 130
    done = shell.claw("replay", "run.tape", "--output", "json")
    assert done.code == 0
    assert done.envelope["status"] == "cancelled"
    assert done.envelope["partial_text"] == "Hel"


def test_a_run_can_be_driven_from_a_tape(shell: Shell, tape: Path) -> None:
    arguments = ("run", "Anything", "--replay", "run.tape", "--approve", "all")
    done = shell.claw(*arguments, "--output", "json", OPENAI_API_KEY=KEY, CLAW_PROVIDER="openai")
    assert done.code == 0
    assert done.envelope["text"] == "It is there, [key]."
    assert [call["name"] for call in done.envelope["tool_calls"]] == ["bash"]
    assert done.envelope["usage"]["input_tokens"] > 0


def test_a_full_disk_is_told_once_and_the_run_goes_on(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        done = shell.claw("run", "Go", "--trace", "/dev/full", **variables(server))
    assert (done.code, done.out) == (0, "Hello\n")
    assert done.err.count("/dev/full can't be written: No space left on device") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is no tape"),
        ("a letter\n", "is no tape"),
        ('{"type":"tape","version":2}\n', "update claw"),
        ('{"type":"tape","version":1}\n', "holds no run"),
    ],
)
def test_what_is_no_tape_is_refused_in_one_line(content: str, words: str, shell: Shell) -> None:
    (shell.folder / "file").write_text(content)
    for arguments in (("replay", "file"), ("run", "Go", "--replay", "file")):
        done = shell.claw(*arguments)
        assert done.code == 2
        assert words in done.err
        assert done.err.count("\n") == 1


def test_a_file_that_is_no_tape_is_not_overwritten(shell: Shell) -> None:
    (shell.folder / "notes").write_text("a letter")
    with serve(reply("Hello")) as server:
        done = shell.claw("run", "Go", "--trace", "notes", **variables(server))
    assert done.code == 2
    assert "notes is there and is no tape" in done.err
    assert (shell.folder / "notes").read_text() == "a letter"
    assert not server.requests


def test_a_conversation_is_recorded_and_driven_from_its_tape(start: Start, home: Path) -> None:
    """All turns are on one tape; then the same conversation with no server at all."""
    tape, shell = home / "repl.tape", Shell(home, home)
    with start("plain", "--trace", str(tape)) as terminal:
        for words in ("one", "two"):
            terminal.type(f"{words}\r")
            terminal.wait_for(f"You said {words}")
            terminal.wait_for(USAGE)
            terminal.wait_for(PROMPT)
        leave(terminal)
    lines = [json.loads(line) for line in tape.read_text().splitlines()]
    assert [line["prompt"] for line in lines if line["type"] == "run"] == ["one", "two"]
    assert "identical: 2 runs" in shell.claw("replay", str(tape)).err
    with start("plain", "--base-url", "http://127.0.0.1:9/v1", "--replay", str(tape)) as terminal:
        terminal.type("whatever\r")
        terminal.wait_for("You said one")
        terminal.wait_for(PROMPT)
        terminal.type("else\r")
        terminal.wait_for("You said two")
        terminal.wait_for(PROMPT)
        terminal.type("more\r")
        terminal.wait_for("the tape has 2 replies, and this is one more")
        terminal.wait_for(PROMPT)
        leave(terminal)


def test_a_tape_of_nobody_is_one_line(shell: Shell) -> None:
    done = shell.claw(
        *("run", "Hi", "--trace", "~nosuchuser/tape"),
        *("--base-url", "http://127.0.0.1:9/v1", "--model", "m"),
    )
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "--trace" in done.err
