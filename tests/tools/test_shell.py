"""bash: how commands end, what is left, what is said."""

from __future__ import annotations

import os
import re
import statistics
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from claw.cancel import CancelToken
from claw.errors import Cancelled
from claw.tools.base import ToolOutput
from claw.tools.process_groups import groups_in
from claw.tools.shell import limit_of
from tests.support.processes import alive, gone_within
from tests.support.toolbox import Toolbox


def cancelled_after(
    box: Toolbox, command: str, *, ready: str, **arguments: float
) -> tuple[ToolOutput, float]:
    """The result of a command that is cancelled once it has printed `ready`, and the latency."""
    token, instants = CancelToken(), []
    box.live.clear()

    def cancel() -> None:
        box.live.wait_for(ready)
        instants.append(time.monotonic())
        token.cancel("interrupt")

    canceller = threading.Thread(target=cancel)
    canceller.start()
    result = box.call("bash", token, command=command, **arguments)
    ended = time.monotonic()
    canceller.join()
    return result, ended - instants[0]


def test_exit_code_output_and_duration(box: Toolbox) -> None:
    result = box.call("bash", command="echo out; echo err >&2; exit 3")
    assert re.fullmatch(r"exit code 3 after [0-4]\.\d s\nout\nerr\n", result.content)
    assert not result.is_error
    assert result.details["exit_code"] == 3
    assert 0 < result.details["duration_s"] < 5


def test_death_by_a_signal_has_the_shells_code(box: Toolbox) -> None:
    assert box.text("bash", command="kill -SEGV $$").startswith("exit code 139 after")


def test_standard_input_is_empty_and_there_is_no_terminal(box: Toolbox) -> None:
    text = box.text("bash", command="cat; echo done-$?; (: < /dev/tty) 2>/dev/null || echo no-tty")
    assert text.endswith("done-0\nno-tty\n")


def test_each_call_is_a_fresh_shell_in_the_workspace(box: Toolbox) -> None:
    (box.root / "sub").mkdir()
    first = box.text("bash", command="X=1; cd sub && pwd")
    assert f"{box.root}/sub" in first
    assert "cd doesn't last" in first
    second = box.text("bash", command="echo [$X]; pwd")
    assert second.endswith(f"[]\n{box.root}\n")
    assert "cd doesn't last" not in second


@pytest.mark.parametrize("command", ["echo 'cd x'", "(cd sub; ls)", "abcd x", "ls --cd", "echo cd"])
def test_the_note_on_cd_is_given_only_for_a_cd(box: Toolbox, command: str) -> None:
    assert "cd doesn't last" not in box.call("bash", command=command).content


def test_programs_are_told_not_to_page_or_colour(box: Toolbox) -> None:
    box.env["PAGER"] = "less"
    text = box.text("bash", command="echo $TERM $NO_COLOR $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT")
    assert text.endswith("dumb 1 cat cat 0\n")


def test_any_bytes_give_valid_text(box: Toolbox) -> None:
    text = box.text("bash", command=r"printf 'ok \377\376 \346\261 end\n'")
    assert text.endswith("ok \ufffd\ufffd \ufffd end\n")


def test_output_is_told_while_the_command_runs(box: Toolbox) -> None:
    result, _ = cancelled_after(box, "echo early; sleep 400.11", ready="early\n")
    assert result.content.endswith("early\n")


def test_long_output_keeps_head_and_tail_and_the_whole_in_a_file(box: Toolbox) -> None:
    text = box.text("bash", command="echo first; seq 1 200000; echo last")
    assert len(text.encode()) < 31_000
    assert text.splitlines()[1] == "first"
    assert text.endswith("200000\nlast\n")
    path = text.split("the whole output is in ")[1].split(" ...]")[0]
    assert box.caution("read_file", path=path) is None
    assert box.caution("search", path=path) is None
    assert box.caution("write_file", path=path) is not None
    assert "100000" in box.text("read_file", path=path, start_line=100_001, end_line=100_001)
    assert box.text("search", path=path, pattern="^123456$").endswith(":123457: 123456")
    box.close()
    assert not os.path.exists(path)
    assert box.caution("read_file", path=path) is not None


def test_a_background_process_keeps_nobody_waiting_and_ends_with_the_session(box: Toolbox) -> None:
    began = time.monotonic()
    text = box.text("bash", command="sleep 400.12 & echo hi")
    assert time.monotonic() - began < 2
    assert "still running, until the session ends: sleep 400.12 (pid " in text
    assert text.endswith("hi\n")
    assert alive("400.12")
    box.close()
    assert gone_within(0.5, "400.12")


def test_a_daemon_that_left_everything_is_named_and_ends_with_the_session(box: Toolbox) -> None:
    text = box.text("bash", command="setsid sleep 400.13 >/dev/null 2>&1 </dev/null & echo hi")
    assert "sleep 400.13" in text
    box.text("bash", command="true")
    assert alive("400.13")
    box.close()
    assert gone_within(0.5, "400.13")


def test_a_background_process_that_ignores_term_ends_too(box: Toolbox) -> None:
    box.text("bash", command="(trap '' TERM; while :; do sleep 400.14; done) >/dev/null & echo hi")
    box.close()
    assert gone_within(0.5, "400.14")


def test_a_flood_from_the_background_ends_the_wait_too(box: Toolbox) -> None:
    began = time.monotonic()
    assert "hi" in box.text("bash", command="echo hi; yes 400.15 &")
    assert time.monotonic() - began < 3


def test_a_timeout_ends_the_whole_group(box: Toolbox) -> None:
    command = "echo before; bash -c 'trap \"\" TERM; sleep 400.16 & wait' & sleep 400.16"
    result = box.call("bash", command=command, timeout_s=0.3)
    assert result.is_error
    assert result.content.startswith("timed out after 0.3 s and was ended")
    assert result.content.endswith("before\n")
    assert result.details["stopped"] == "timeout"
    assert gone_within(0.5, "400.16")


@pytest.mark.parametrize("timeout_s", [0, -1])
def test_a_timeout_must_be_positive(box: Toolbox, timeout_s: float) -> None:
    assert "timeout_s must be" in box.refusal("bash", command="true", timeout_s=timeout_s)


def test_a_command_gets_two_minutes_unless_the_model_asks_for_up_to_ten() -> None:
    assert [limit_of(wish) for wish in (None, 3, 599, 601, 1e9)] == [120, 3, 599, 600, 600]


def test_the_runs_deadline_ends_a_command_too(box: Toolbox) -> None:
    result = box.call("bash", CancelToken(timeout=0.2), command="sleep 400.17")
    assert result.content.startswith("interrupted after 0.2 s")
    assert result.details["stopped"] == "deadline"
    assert gone_within(0.5, "400.17")


def test_a_cancelled_token_starts_nothing(box: Toolbox) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        box.call("bash", token, command="touch started")
    assert not (box.root / "started").exists()


def test_cancel_is_answered_at_once_when_the_command_dies_on_term(box: Toolbox) -> None:
    latencies = []
    for _ in range(10):
        result, latency = cancelled_after(box, "echo go; sleep 400.18", ready="go")
        assert result.is_error
        assert result.content.startswith("interrupted after ")
        latencies.append(latency)
    assert statistics.median(latencies) < 0.05
    assert gone_within(0.5, "400.18")


@pytest.mark.parametrize(
    "command",
    [
        "trap '' TERM; echo go; while :; do sleep 400.19; done",
        "setsid sleep 400.19 & echo go; sleep 400.19",
        "(trap '' TERM; exec setsid sleep 400.19) >/dev/null & echo go; sleep 400.19",
        "(trap : TERM; setsid bash -c 'while :; do sleep 400.19; done' &) & echo go; sleep 400.19",
        "trap '' TERM; setsid bash -c 'while :; do sleep 400.19; done' & echo go; sleep 400.19; :",
    ],
)
def test_hostile_children_are_ended_soon(box: Toolbox, command: str) -> None:
    result, latency = cancelled_after(box, command, ready="go")
    assert result.is_error
    assert latency < 1.5
    assert gone_within(0.5, "400.19")


def test_a_command_without_output_pipes_is_followed_too(box: Toolbox) -> None:
    token = CancelToken(timeout=0.3)
    began = time.monotonic()
    assert box.call("bash", token, command="exec >&- 2>&-; sleep 400.23; true").is_error
    assert time.monotonic() - began < 1.5
    assert gone_within(0.5, "400.23")


def test_kill_all_ends_a_command_in_its_grace(box: Toolbox) -> None:
    groups = groups_in(box.session.state("shell"))
    token = CancelToken()
    command = "trap 'echo term' TERM; echo go; while :; do sleep 400.21; done"

    def hurry() -> None:
        box.live.wait_for("go")
        token.cancel()
        box.live.wait_for("term")
        groups.kill_all()

    thread = threading.Thread(target=hurry)
    thread.start()
    result = box.call("bash", token, command=command)
    thread.join()
    assert result.details["exit_code"] == 137
    assert gone_within(0.5, "400.21")


def test_a_nested_mark_does_not_hide_the_outer_one(box: Toolbox) -> None:
    inner = Toolbox(box.root, env={**box.env})
    names = inner.text("bash", command="env | grep -c '^CLAW_.*_1_=1$'")
    assert names.endswith("\n1\n")
    inner.env.update({"CLAW_0123456789abcdef_1_": "1"})
    assert inner.text("bash", command="env | grep -c '^CLAW_.*_=1$'").endswith("\n2\n")
    inner.close()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo \0", "not run: the command holds a character"),
        ("echo \ud800", "not run: the command holds a character"),
        ("echo " + "x" * 200_000, "not run: Argument list too long"),
    ],
)
def test_what_can_t_be_started_is_said(box: Toolbox, command: str, words: str) -> None:
    assert words in box.refusal("bash", command=command)


def test_no_bash_and_no_workspace(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "empty").mkdir()
    box = Toolbox(root, env={"PATH": str(tmp_path / "empty")})
    assert "bash is not installed" in box.refusal("bash", command="true")
    root.rmdir()
    assert "no longer there" in box.refusal("bash", command="true")
    box.close()


def test_output_and_errors_come_in_the_order_they_were_written(box: Toolbox) -> None:
    text = box.text("bash", command="for n in 1 2 3; do echo $n; echo e$n >&2; done")
    assert text.endswith("\n1\ne1\n2\ne2\n3\ne3\n")


@pytest.mark.stress
def test_two_hundred_cancels(box: Toolbox) -> None:
    latencies = sorted(
        cancelled_after(box, "echo go; sleep 400.22", ready="go")[1] for _ in range(200)
    )
    assert latencies[197] < 0.2
    assert gone_within(0.5, "400.22")


@pytest.mark.stress
def test_cancels_at_random_instants(box: Toolbox) -> None:
    for number in range(300):
        token = CancelToken()
        timer = threading.Timer(number / 300 * 0.02, token.cancel)
        timer.start()
        with suppress(Cancelled):
            box.call("bash", token, command="echo x; sleep 0.008; echo y")
        timer.join()
