"""`claw demo` as its user sees it: in a pipe, on a terminal, denied, interrupted, lied to."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from claw.demo.project import BUG, FIX, MODULE
from claw.demo.script import SCENES, TASK
from tests.support.command import Finished, Shell, finished
from tests.support.pty import Terminal

DIFF = f"-{BUG}\n+{FIX}\n"
CUE = r"\[y/a/n/w\]$"
ANSWERED = r"\[y/a/n/w\] [yan]$"


@pytest.fixture
def temp(tmp_path: Path) -> Path:
    """Where the demo makes its folder; empty before and, unless it is kept, after."""
    folder = tmp_path / "temp"
    folder.mkdir()
    return folder


def play(shell: Shell, temp: Path, *options: str, **variables: str) -> Finished:
    return shell.claw("demo", *options, TMPDIR=str(temp), **variables)


def test_in_a_pipe_it_plays_to_the_end_and_leaves_nothing(shell: Shell, temp: Path) -> None:
    done = play(shell, temp)
    assert done.code == 0, done
    assert done.err == ""
    assert "The model of this demo is a script" in done.out
    assert "every call is allowed" in done.out
    assert TASK in done.out
    assert "FAILED (failures=1)" in done.out
    assert "“OK”" in done.out
    assert DIFF in done.out.partition("What has changed:")[2]
    assert "\x1b" not in done.out
    assert not list(temp.iterdir())


def test_keep_leaves_the_fixed_project_there(shell: Shell, temp: Path) -> None:
    done = play(shell, temp, "--keep")
    (folder,) = temp.iterdir()
    assert f"The folder is kept: {folder}\n" in done.out
    assert FIX in (folder / MODULE).read_text()


def test_the_users_settings_proxies_and_path_do_not_matter(shell: Shell, temp: Path) -> None:
    shell.config.write_text("this is no TOML")
    nobody = "http://127.0.0.1:9"
    variables = {"HTTP_PROXY": nobody, "OPENAI_API_KEY": "not\na key", "PATH": "/usr/bin:/bin"}
    done = play(shell, temp, **variables)
    assert done.code == 0, done


def test_a_wrong_result_fails_it(shell: Shell, temp: Path, tmp_path: Path) -> None:
    lies = tmp_path / "lies" / "unittest"
    lies.mkdir(parents=True)
    (lies / "__init__.py").touch()
    (lies / "__main__.py").write_text('print("Ran 2 tests in 0.0s"); print("OK")\n')
    done = play(shell, temp, PYTHONPATH=os.pathsep.join([str(lies.parent), shell.package]))
    assert done.code == 1
    assert done.err.startswith("claw: the demo failed: the test run should have ended with")
    assert not list(temp.iterdir())


def test_a_closed_standard_output_ends_it(shell: Shell, temp: Path) -> None:
    reader, writer = os.pipe()
    variables = {"TMPDIR": str(temp)}
    with shell.started("demo", variables=variables, stdout=writer) as process:
        os.close(writer)
        assert os.read(reader, 1)
        os.close(reader)
        assert process.wait(timeout=20) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert not list(temp.iterdir())


@contextmanager
def on_terminal(shell: Shell, temp: Path, *, output: str = "/dev/stdout") -> Iterator[Terminal]:
    """With someone to ask. Where standard output is a file, nothing is slowed down for reading."""
    script = f'exec "$@" > {output}'
    argv = ["bash", "-c", script, "bash", *shell.command("demo")]
    env = shell.environ(TMPDIR=str(temp), TERM="xterm")
    with Terminal.running(argv, cwd=shell.folder, env=env, lines=60, columns=100) as terminal:
        yield terminal


def answered(shell: Shell, temp: Path, keys: str) -> tuple[int, str, str]:
    """(exit code, the questions, standard output) when each question gets the next of `keys`."""
    output = shell.home / "output"
    with on_terminal(shell, temp, output=str(output)) as terminal:
        for number, key in enumerate(keys, start=1):
            terminal.wait_for(CUE)
            terminal.type(key)
            terminal.wait_for(ANSWERED, count=number)
        return terminal.wait_exit(), terminal.text, output.read_text()


def test_each_command_and_change_is_asked_about(shell: Shell, temp: Path) -> None:
    code, questions, output = answered(shell, temp, "yyy")
    assert code == 0
    assert len(re.findall(r"^    \S+ -m unittest$", questions, re.MULTILINE)) == 2
    assert f"    -{BUG}\n    +{FIX}\n" in questions
    assert "You are asked" in output
    assert DIFF in output


def test_always_covers_the_second_run_of_the_same_command(shell: Shell, temp: Path) -> None:
    code, _, output = answered(shell, temp, "ay")
    assert code == 0
    assert DIFF in output


@pytest.mark.parametrize(("keys", "scene"), [("n", 2), ("yn", 3), ("yyn", 4)])
def test_a_denial_is_taken_for_an_answer(shell: Shell, temp: Path, keys: str, scene: int) -> None:
    code, _, output = answered(shell, temp, keys)
    assert code == 0
    assert SCENES[scene].when_denied in output
    changed = keys == "yyn"
    assert (DIFF in output) is changed
    assert ("Nothing has changed." in output) is not changed
    assert not list(temp.iterdir())


def test_a_denial_with_words_is_one_too(shell: Shell, temp: Path) -> None:
    with on_terminal(shell, temp, output=str(shell.home / "output")) as terminal:
        terminal.wait_for(CUE)
        terminal.type("w")
        terminal.wait_for("tell the model:$")
        terminal.type("not today\r")
        assert terminal.wait_exit() == 0
    assert SCENES[2].when_denied in (shell.home / "output").read_text()


def test_ctrl_c_in_mid_stream_ends_it(shell: Shell, temp: Path) -> None:
    with on_terminal(shell, temp) as terminal:
        terminal.wait_for("I’ll read")
        terminal.type("\x03")
        assert terminal.wait_exit() == 130
        terminal.wait_for("isn't part of the conversation")
        assert terminal.modes() == terminal.modes_before
    assert not list(temp.iterdir())


def test_ctrl_c_at_a_question_ends_it(shell: Shell, temp: Path) -> None:
    with on_terminal(shell, temp) as terminal:
        terminal.wait_for(CUE)
        terminal.type("\x03")
        assert terminal.wait_exit() == 130
        assert terminal.modes() == terminal.modes_before
    assert not list(temp.iterdir())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_in_good_order(
    shell: Shell, temp: Path, number: signal.Signals, code: int
) -> None:
    with on_terminal(shell, temp) as terminal:
        terminal.wait_for("I’ll read")
        terminal.kill(number)
        assert terminal.wait_exit() == code
    assert not list(temp.iterdir())


@pytest.mark.stress
@pytest.mark.parametrize("instant", range(40))
def test_ctrl_c_at_any_instant_leaves_nothing(shell: Shell, temp: Path, instant: int) -> None:
    with shell.started("demo", variables={"TMPDIR": str(temp)}) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=instant * 0.02)
        process.send_signal(signal.SIGINT)
        done = finished(process)
    assert done.code in (0, 130, -signal.SIGINT), done  # the last: Python was leaving already
    assert "Traceback" not in done.err
    assert not list(temp.iterdir())
