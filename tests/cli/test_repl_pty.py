"""The REPL as a person meets it: real terminal, real keys, real HTTP; a scripted model.

Every test ends by comparing the terminal's modes with those before claw was started.
"""

from __future__ import annotations

import re
import signal
import termios
from pathlib import Path

import pytest

from tests.support.pty import Terminal
from tests.support.repl import CUE, FLAVOURS, PROMPT, USAGE, Model, Start, leave
from tests.support.server import Server


@pytest.mark.parametrize("flavour", [*FLAVOURS, "bare"])
def test_a_conversation(flavour: str, start: Start, model: Model) -> None:
    with start(flavour) as terminal:
        terminal.type("hold on\r")
        terminal.wait_for("^It begins$")
        model.go.set()
        terminal.wait_for(r"^It begins and ends\.$")
        terminal.wait_for(USAGE)
        terminal.wait_for(PROMPT)
        terminal.type("again\r")
        terminal.wait_for("^You said again$")
        terminal.wait_for(USAGE, count=2)
        terminal.wait_for(PROMPT)
        terminal.type("/exit\r")
        assert terminal.wait_exit() == 0
        assert ("\x1b[2m" in terminal.transcript) is (flavour == "extra")


def test_a_terminal_that_cannot_move_its_cursor_gets_the_plain_prompt(
    start: Start, home: Path
) -> None:
    """TERM=dumb, with prompt_toolkit installed."""
    with start("dumb") as terminal:
        terminal.type("remember me\r")
        terminal.wait_for(USAGE)
        terminal.wait_for(PROMPT)
        leave(terminal)
        assert "\x1b" not in terminal.transcript
    histories = [
        file.name for file in home.glob("prompt_history*") if "remember me" in file.read_text()
    ]
    assert histories == ["prompt_history_plain"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_ctrl_c_in_mid_stream(flavour: str, start: Start, server: Server) -> None:
    with start(flavour) as terminal:
        terminal.type("hold on\r")
        terminal.wait_for("^It begins$")
        terminal.wait_modes(termios.NOFLSH, True)
        terminal.type("typed ahead\x03")
        terminal.wait_for(
            "^.interrupted: the unfinished text above isn't part of the conversation.$"
        )
        terminal.wait_for("^claw> typed ahead$")
        server.wait_disconnect()
        terminal.type("\r")
        terminal.wait_for("^You said typed ahead$")
        terminal.wait_for(PROMPT)
        roles = [message["role"] for message in server.requests[-1].messages]
        assert roles.count("assistant") == 0
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_turn_that_was_stopped_has_the_terminal_as_before(flavour: str, start: Start) -> None:
    """A shell takes the terminal for itself after a Ctrl-Z, and leaves its own modes there."""
    with start(flavour) as terminal:
        terminal.type("hold on\r")
        terminal.wait_for("^It begins$")
        terminal.kill(signal.SIGSTOP)
        terminal.wait_state("T")
        terminal.set_modes(terminal.modes_before)
        terminal.kill(signal.SIGCONT)
        terminal.wait_modes(termios.NOFLSH, True)
        terminal.wait_modes(termios.ECHO, False)
        terminal.type("typed ahead\x03")
        terminal.wait_for("^.interrupted")
        terminal.wait_for("^claw> typed ahead$")
        terminal.type("\r")
        terminal.wait_for("^You said typed ahead$")
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_waiting_indicator(flavour: str, start: Start) -> None:
    with start(flavour) as terminal:
        terminal.type("silent\r")
        terminal.wait_for(r"^waiting for .*, 1 s$")
        terminal.type("\x03")
        terminal.wait_for(r"^\[interrupted\]$")
        terminal.wait_for(PROMPT)
        assert "waiting for" not in terminal.text
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_wait_for_a_rate_limit_is_counted_down(flavour: str, start: Start) -> None:
    with start(flavour) as terminal:
        terminal.type("limit\r")
        terminal.wait_for(r"^trying again in \d+ s \(Ctrl-C ends the turn\)$")
        terminal.type("\x03")
        terminal.wait_for(r"^\[interrupted\]$")
        terminal.wait_for(PROMPT)
        assert "Ctrl-C ends the turn" not in terminal.text
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_typed_ahead_text_is_never_an_approval(
    flavour: str, start: Start, model: Model, home: Path
) -> None:
    made = home.parent / "work" / "made"
    with start(flavour) as terminal:
        terminal.type(f"later touch {made.name}\r")
        terminal.wait_modes(termios.NOFLSH, True)
        terminal.type("yay")
        model.go.set()
        terminal.wait_for(CUE)
        terminal.type("n")
        terminal.wait_for("^Told: denied")
        terminal.wait_for("^claw> yay$")
        assert not made.exists()
        terminal.type("\r")
        terminal.wait_for("^You said yay$")
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_whole_lines_typed_ahead_are_entered_one_by_one(
    flavour: str, start: Start, model: Model
) -> None:
    """Where the turn has no further step that could take them (test_steering.py)."""
    with start(flavour) as terminal:
        terminal.type("hold on\r")
        terminal.wait_for("^It begins$")
        terminal.type("one\rtwo\rthr")
        model.go.set()
        terminal.wait_for("^You said one$")
        terminal.wait_for("^You said two$")
        terminal.wait_for("^claw> thr$")
        terminal.type("ee\r")
        terminal.wait_for("^You said three$")
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", [*FLAVOURS, "bare"])
def test_ctrl_c_at_the_prompt(flavour: str, start: Start) -> None:
    with start(flavour) as terminal:
        terminal.type("never sent")
        terminal.wait_for("^claw> never sent$")
        terminal.wait_asleep()
        terminal.type("\x03")
        terminal.wait_for(r"^claw> never sent(\^C)?\n\(Ctrl-C again leaves\)\nclaw>$")
        terminal.wait_asleep()
        terminal.type("\x03")
        assert terminal.wait_exit() == 130


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_approvals(flavour: str, start: Start, home: Path) -> None:
    work = home.parent / "work"
    with start(flavour) as terminal:
        terminal.type("bash echo $((6*7)) > yes.txt\r")
        terminal.wait_for(r"^    echo \$\(\(6\*7\)\) > yes.txt$")
        terminal.wait_for(CUE)
        terminal.type("y")
        terminal.wait_for("^Told:")
        terminal.wait_for(PROMPT)
        assert (work / "yes.txt").read_text() == "42\n"

        terminal.type("/clear\rbash touch no.txt\r")
        terminal.wait_for(CUE)
        terminal.type("\r")
        terminal.wait_for("^Told: denied$")
        terminal.wait_for(PROMPT)

        terminal.type("/clear\rwrite words\r")
        terminal.wait_for(r"^    \+words$")
        terminal.wait_for(CUE)
        terminal.type("w")
        terminal.wait_for("^tell the model:$")
        terminal.type("use a better name\r")
        terminal.wait_for("^Told: denied: use a better name$")
        terminal.wait_for(PROMPT)

        terminal.type("/clear\rwrite more\r")
        terminal.wait_for(CUE)
        terminal.type("a")
        terminal.wait_for("every write_file call$")
        terminal.wait_for("^Told: created new.txt")
        terminal.wait_for(PROMPT)
        terminal.type("write other words\r")
        terminal.wait_for("^Told: overwrote new.txt")
        terminal.wait_for(PROMPT)
        assert (work / "new.txt").read_text() == "other words"
        assert not (work / "no.txt").exists()
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_ctrl_c_at_an_open_question(flavour: str, start: Start, home: Path) -> None:
    with start(flavour) as terminal:
        terminal.type("bash touch made\r")
        terminal.wait_for(CUE)
        terminal.type("\x03")
        terminal.wait_for(r"^\[interrupted\]$")
        terminal.wait_for(PROMPT)
        assert not (home.parent / "work" / "made").exists()
        terminal.type("hello\r")
        terminal.wait_for("^You said hello$")
        terminal.wait_for(PROMPT)
        leave(terminal)


def test_ctrl_c_while_a_command_runs(start: Start) -> None:
    with start("extra", "--approve", "all") as terminal:
        terminal.type("bash echo started; sleep 300\r")
        terminal.wait_for("^waiting for bash, 1 s")
        terminal.type("\x03")
        terminal.wait_for("^  interrupted after")
        terminal.wait_for(r"^\[interrupted\]$")
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_slash_commands(flavour: str, start: Start, server: Server) -> None:
    with start(flavour) as terminal:
        terminal.type("/help\r")
        for name in ("/help", "/clear", r"/model \[NAME\]", "/tools", "/usage", "/exit, /quit"):
            terminal.wait_for(rf"^  {name} ")
        terminal.type("first\r")
        terminal.wait_for("^You said first$")
        terminal.wait_for(PROMPT)
        terminal.type("/usage\r")
        terminal.wait_for("^1 turn: ")
        terminal.type("/clear\r")
        terminal.wait_for("^the conversation is empty")
        terminal.type("second\r")
        terminal.wait_for("^You said second$")
        terminal.wait_for(PROMPT)
        asked = [m["content"] for m in server.requests[-1].messages if m["role"] == "user"]
        assert asked == ["second"]
        terminal.type("/model other\r")
        terminal.wait_for(r"^other \(")
        terminal.type("third\r")
        terminal.wait_for("^You said third$")
        terminal.wait_for(PROMPT)
        assert server.requests[-1].body["model"] == "other"
        terminal.type("/nonsense\r")
        terminal.wait_for("^there is no command /nonsense")
        terminal.type("/etc/hosts is a file\r")
        terminal.wait_for("^You said /etc/hosts is a file$")
        terminal.wait_for(PROMPT)
        terminal.type("/quit\r")
        assert terminal.wait_exit() == 0


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_backslash_goes_on_to_the_next_line(flavour: str, start: Start, server: Server) -> None:
    with start(flavour) as terminal:
        terminal.type("one\\\r")
        terminal.wait_for(r"^\.\.\.$")
        terminal.type("two\r")
        terminal.wait_for("^You said two$")
        terminal.wait_for(PROMPT)
        assert server.requests[-1].messages[-1]["content"] == "one\ntwo"
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_paste_of_100_kb_is_one_prompt(flavour: str, start: Start, server: Server) -> None:
    lines = [f"{n:05} {'pasted ' * 14}" for n in range(1000)]
    pasted = "\n".join([*lines, "x" * 5000])
    assert len(pasted) > 100_000
    with start(flavour) as terminal:
        terminal.paste(pasted)
        terminal.type("\r")
        terminal.wait_for(USAGE)
        terminal.wait_for(PROMPT)
        assert server.requests[-1].messages[-1]["content"] == pasted
        assert len(server.requests) == 1
        leave(terminal)


def test_a_python_without_readline_never_sends_half_a_line(start: Start, server: Server) -> None:
    with start("bare") as terminal:
        terminal.type("x" * 5000 + "\r")
        terminal.wait_for("^claw: not sent: the terminal cuts lines at 4 kB")
        terminal.type("short\r")
        terminal.wait_for("^You said short$")
        terminal.wait_for(PROMPT)
        assert len(server.requests) == 1
        leave(terminal)


def test_a_line_of_100_kb_without_any_help_of_the_terminal(start: Start, server: Server) -> None:
    """A terminal's own line editing would cut it at 4 kB."""
    with start("plain") as terminal:
        terminal.type("x" * 100_000 + "\r")
        terminal.wait_for(USAGE)
        terminal.wait_for(PROMPT)
        assert server.requests[-1].messages[-1]["content"] == "x" * 100_000
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_history_goes_across_runs(flavour: str, start: Start, home: Path) -> None:
    with start(flavour) as terminal:
        terminal.type("remember me\r")
        terminal.wait_for(USAGE)
        terminal.wait_for(PROMPT)
        leave(terminal)
    files = [file for file in home.glob("prompt_history*") if "remember me" in file.read_text()]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600]
    with start(flavour) as terminal:
        terminal.type("\x1b[A")
        terminal.wait_for("^claw> remember me$")
        terminal.wait_asleep()
        terminal.type("\x03")
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_resizing(flavour: str, start: Start, model: Model) -> None:
    with start(flavour) as terminal:
        terminal.type("hold on\r")
        terminal.wait_for("^It begins$")
        terminal.resize(24, 40)
        model.go.set()
        terminal.wait_for(USAGE)
        terminal.wait_for(PROMPT)
        terminal.type("bash touch " + "words " * 10 + "\r")
        line = terminal.wait_for(r"^\* bash .*\.\.\.$")[0]
        assert len(line) == 40
        terminal.wait_for(CUE)
        terminal.type("n")
        terminal.wait_for(PROMPT)
        terminal.resize(24, 100)
        terminal.type("wide\r")
        terminal.wait_for("^You said wide$")
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.parametrize("flavour", [*FLAVOURS, "bare"])
@pytest.mark.parametrize("state", ["prompt", "stream", "question"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_term_and_hup_leave_in_good_order(
    flavour: str, state: str, number: signal.Signals, code: int, start: Start
) -> None:
    with start(flavour) as terminal:
        bring_to(state, terminal)
        terminal.kill(number)
        assert terminal.wait_exit() == code
        assert "Traceback" not in terminal.transcript
        assert not terminal.bracketed_paste


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_hostile_text_reaches_no_terminal(flavour: str, start: Start) -> None:
    with start(flavour) as terminal:
        terminal.type("evil\r")
        terminal.wait_for("^safe  words !$")
        terminal.wait_for(PROMPT)
        assert not re.search("\x1b]52|\x07|\x1b\\[2J|\x9b|\u202e", terminal.transcript)
        leave(terminal)


def test_a_failure_is_one_line_and_the_prompt(start: Start) -> None:
    with start("extra") as terminal:
        terminal.type("refuse\r")
        terminal.wait_for("^claw: .*wrong key")
        terminal.wait_for(PROMPT)
        terminal.type("go on\r")
        terminal.wait_for("^You said go on$")
        terminal.wait_for(PROMPT)
        assert "Traceback" not in terminal.transcript
        leave(terminal)


DEAF = """
import threading
from pathlib import Path
from claw import ToolContext, tool

@tool(read_only=True)
def deaf(context: ToolContext) -> str:
    "Hears nothing for a while."
    context.cancel.on_cancel(Path("cancelled").touch)
    Path("runs").touch()
    threading.Event().wait(3)
    return "done"

@tool(read_only=True, caller_thread=True)
def stone_deaf(context: ToolContext) -> str:
    "Hears nothing for ever, a Ctrl-C least of all."
    context.cancel.on_cancel(Path("cancelled").touch)
    Path("runs").touch()
    while True:
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            Path("raised").touch()
"""


@pytest.fixture
def deaf_tools(home: Path) -> None:
    (home / "deaf.py").write_text(DEAF)
    (home / "config.toml").write_text('tools = ["deaf:deaf", "deaf:stone_deaf"]\n')


@pytest.mark.usefixtures("deaf_tools")
def test_a_second_ctrl_c_leaves_a_turn_that_does_not_end(start: Start, home: Path) -> None:
    work = home.parent / "work"
    with start("extra") as terminal:
        terminal.type("tool deaf\r")
        terminal.wait_until((work / "runs").exists)
        terminal.type("\x03")
        terminal.wait_until((work / "cancelled").exists)
        terminal.type("\x03")
        terminal.wait_for("^.left at once")
        terminal.wait_for(PROMPT)
        terminal.type("hello\r")
        terminal.wait_for("^You said hello$")
        terminal.wait_for(PROMPT)
        leave(terminal)


@pytest.mark.usefixtures("deaf_tools")
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_third_ctrl_c_leaves_whatever_happens(flavour: str, start: Start, home: Path) -> None:
    with start(flavour) as terminal:
        terminal.type("tool stone_deaf\r")
        for news in ("runs", "cancelled", "raised"):
            terminal.wait_until((home.parent / "work" / news).exists)
            terminal.type("\x03")
        assert terminal.wait_exit() == 130


@pytest.mark.parametrize("state", ["prompt", "stream", "question"])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_closed_window_ends_it(flavour: str, state: str, start: Start) -> None:
    with start(flavour, holder=False) as terminal:
        bring_to(state, terminal)
        assert terminal.close_window() == 129


@pytest.mark.stress
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("columns", [40, 200])
def test_other_widths(flavour: str, columns: int, start: Start) -> None:
    with start(flavour, columns=columns) as terminal:
        terminal.type("bash touch " + "wide " * 60 + "\r")
        line = terminal.wait_for(r"^\* bash .*\.\.\.$")[0]
        assert len(line) == columns
        terminal.wait_for(CUE)
        terminal.type("y")
        terminal.wait_for("^Told:")
        terminal.wait_for(PROMPT)
        terminal.type("again\r")
        terminal.wait_for("^You said again$")
        terminal.wait_for(PROMPT)
        leave(terminal)


def bring_to(state: str, terminal: Terminal) -> None:
    if state == "stream":
        terminal.type("hold on\r")
        terminal.wait_for("^It begins$")
    if state == "question":
        terminal.type("bash touch x\r")
        terminal.wait_for(CUE)
