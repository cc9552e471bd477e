"""Background jobs of bash: started, read, ended, and gone with the session."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from claw import Engine, MemoryReporter, Session, allow_all
from claw.cancel import CancelToken
from claw.errors import Cancelled
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.tools import coding_tools
from claw.tools.process_groups import groups_in
from tests.support.processes import alive, gone_within
from tests.support.toolbox import Toolbox


def start(box: Toolbox, command: str, **arguments: float) -> str:
    return box.text("bash", command=command, background=True, **arguments)


def read(box: Toolbox, number: int = 1, **arguments: float) -> str:
    return box.text("job", action="read", id=number, **arguments)


def output(text: str) -> str:
    """What a report holds below the job's state."""
    return text.partition("\n")[2]


def eventually(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def test_a_job_starts_at_once_and_lives_on(box: Toolbox) -> None:
    began = time.monotonic()
    text = start(box, "echo hello; sleep 401.01")
    assert time.monotonic() - began < 1
    assert re.match(r"job 1 started \(pid \d+\); all of its output goes to /", text)
    assert box.text("bash", command="echo other").endswith("\nother\n")
    assert alive("401.01")
    box.close()
    assert gone_within(0.5, "401.01")


def test_reading_gives_what_is_new_and_how_it_is_doing(box: Toolbox) -> None:
    start(box, "echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 3")
    eventually(lambda: output(read(box)) == "one\n")
    text = read(box)
    assert re.match(r"job 1: running for \d+\.\d s\n", text)
    assert output(text) == "(no new output)"
    (box.root / "go").touch()
    text = read(box, wait_s=20)
    assert re.match(r"job 1: exit code 3 after \d+\.\d s\n", text)
    assert output(text) == "two\n"
    assert output(read(box)) == "(no new output)"


def test_the_whole_output_can_be_read_while_the_job_runs(box: Toolbox) -> None:
    path = start(box, "seq 1 20000; sleep 401.02").split(" goes to ")[1]
    eventually(lambda: "20000" in Path(path).read_text())
    text = read(box)
    assert len(text.encode()) < 31_000
    assert "\n1\n2\n" in text
    assert text.endswith("\n20000\n")
    assert f"the whole output is in {path} ...]" in text
    assert box.caution("read_file", path=path) is None
    assert "12345" in box.text("read_file", path=path, start_line=12345, end_line=12345)
    box.close()
    assert not os.path.exists(path)


def test_bytes_that_are_cut_between_two_reads_stay_one_character(box: Toolbox) -> None:
    start(box, r"printf 'a\346\274'; until [ -e go ]; do sleep 0.01; done; printf '\242b\377'")
    eventually(lambda: output(read(box)) == "a")
    (box.root / "go").touch()
    assert output(read(box, wait_s=20)) == "漢b\ufffd"


def test_ending_a_job_ends_all_it_started_and_says_so(box: Toolbox) -> None:
    start(box, "trap '' TERM; setsid sleep 401.03 & echo up; while :; do sleep 401.03; done")
    eventually(lambda: len(alive("sleep 401.03")) >= 2)
    began = time.monotonic()
    text = box.text("job", action="end", id=1)
    assert time.monotonic() - began < 3
    ended = r"job 1: ended after \d\.\d s with exit code 137\nalso ended: sleep 401.03 \("
    assert re.match(ended, text)
    assert text.endswith("\nup\n")
    assert gone_within(0.5, "401.03")
    assert box.text("job", action="end", id=1).startswith("job 1: ended after ")


def test_the_end_of_one_that_has_ended_by_itself_is_told_as_it_was(box: Toolbox) -> None:
    start(box, "exit 5")
    read(box, wait_s=20)
    assert box.text("job", action="end", id=1).startswith("job 1: exit code 5 after ")


def test_the_list_names_every_job(box: Toolbox) -> None:
    start(box, "exit 4")
    start(box, f"sleep 401.04; echo {'long ' * 40}")
    read(box, 1, wait_s=20)
    first, second = box.text("job", action="list").split("\n")
    assert re.fullmatch(r"job 1: exit code 4 after \d\.\d s: exit 4", first)
    assert re.fullmatch(r"job 2: running for \d\.\d s: sleep 401.04; echo long .*…", second)
    assert len(second) < 120


def test_an_end_that_nobody_asked_for_is_told_with_the_next_result(box: Toolbox) -> None:
    start(box, "exit 7")
    eventually(lambda: not any(t.name == "claw-job" for t in threading.enumerate()))
    text = box.text("bash", command="echo hi")
    assert re.search(r"^exit code 0 .*\njob 1 ended: exit code 7 after \d\.\d s\nhi\n$", text)
    assert "job 1" not in box.text("bash", command="echo hi")


def test_it_is_told_once_whoever_tells_it(box: Toolbox) -> None:
    start(box, "exit 7")
    start(box, "exit 8")
    assert "exit code 8" in read(box, 2, wait_s=20)
    eventually(lambda: not any(t.name == "claw-job" for t in threading.enumerate()))
    assert "job 1: exit code 7" in box.text("job", action="list")
    assert "ended" not in box.text("bash", command="true")


def test_a_job_has_no_time_limit_but_the_one_it_was_given(box: Toolbox) -> None:
    start(box, "echo x; sleep 401.05", timeout_s=0.3)
    assert read(box, wait_s=20).startswith("job 1: timed out after 0.3 s and was ended\nx")
    assert "timeout_s must be" in box.refusal("bash", command="x", background=True, timeout_s=0)
    assert gone_within(0.5, "401.05")


def test_what_a_job_leaves_running_is_named_and_ends_with_the_session(box: Toolbox) -> None:
    start(box, "sleep 401.06 >/dev/null & echo started")
    text = read(box, wait_s=20)
    assert "still running, until the session ends: sleep 401.06 (pid " in text
    box.close()
    assert gone_within(0.5, "401.06")


def test_eight_at_once_are_the_most(box: Toolbox) -> None:
    for _ in range(8):
        start(box, "sleep 401.07")
    assert "8 jobs run already" in box.refusal("bash", command="true", background=True)
    box.text("job", action="end", id=3)
    assert start(box, "sleep 401.07").startswith("job 9 started")
    box.close()
    assert gone_within(0.5, "401.07")


def test_the_oldest_ends_are_forgotten(box: Toolbox) -> None:
    for number in range(1, 41):
        start(box, "true")
        read(box, number, wait_s=20)
    listed = box.text("job", action="list").split("\n")
    assert 32 <= len(listed) <= 34
    assert "there is no job 1; the jobs are: " in box.refusal("job", action="read", id=1)


@pytest.mark.parametrize("action", ["read", "end"])
def test_a_job_that_is_not_there(box: Toolbox, action: str) -> None:
    assert "bash starts one" in box.refusal("job", action="list")
    start(box, "true")
    assert "there is no job 2; the jobs are: 1" in box.refusal("job", action=action, id=2)
    assert "give the job's id; the jobs are: 1" in box.refusal("job", action=action)


def test_what_can_t_be_started_is_no_job(box: Toolbox) -> None:
    refusal = box.refusal("bash", command="echo \0", background=True)
    assert "not run: the command holds a character" in refusal
    start(box, "true")
    assert box.text("job", action="list").startswith("job 1: ")


def test_a_cancelled_turn_starts_none(box: Toolbox) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        box.call("bash", token, command="touch started", background=True)
    assert not (box.root / "started").exists()


def test_a_job_outlives_the_cancel_of_its_turn(box: Toolbox) -> None:
    token = CancelToken()
    box.call("bash", token, command="sleep 401.08", background=True)
    token.cancel()
    assert read(box, wait_s=0.1).startswith("job 1: running")
    box.text("job", action="end", id=1)


@pytest.mark.parametrize("cancels", [1, 20])
def test_a_cancel_ends_the_wait_for_a_job_and_not_the_job(box: Toolbox, cancels: int) -> None:
    start(box, "sleep 401.09")
    for _ in range(cancels):
        token = CancelToken()
        timer = threading.Timer(0.02, token.cancel)
        timer.start()
        began = time.monotonic()
        with pytest.raises(Cancelled):
            box.call("job", token, action="read", id=1, wait_s=300)
        assert time.monotonic() - began < 1
        timer.join()
    assert read(box).startswith("job 1: running")


def test_killing_all_groups_ends_jobs_at_once(box: Toolbox) -> None:
    start(box, "trap '' TERM; while :; do sleep 401.10; done")
    eventually(lambda: alive("sleep 401.10"))
    groups_in(box.session.state("shell")).kill_all()
    assert read(box, wait_s=20).startswith("job 1: exit code 137")
    assert gone_within(0.5, "401.10")


def test_clearing_the_conversation_ends_jobs_and_counts_anew(box: Toolbox) -> None:
    start(box, "sleep 401.11")
    box.session.clear()
    assert gone_within(0.5, "401.11")
    assert start(box, "true").startswith("job 1 started")


def test_a_flood_is_bounded_and_waits_for_nobody(box: Toolbox) -> None:
    start(box, "head -c 30000000 /dev/zero | tr '\\0' x; echo; echo done")
    text = read(box, wait_s=60)
    assert text.startswith("job 1: exit code 0")
    assert text.endswith("\ndone\n")
    assert len(text.encode()) < 31_000


def test_nobody_is_asked_about_a_job_and_it_lives_from_turn_to_turn(tmp_path: Path) -> None:
    with Session() as session:
        for turn in (
            tool_turn("bash", command="echo hi; touch up; sleep 401.12", background=True),
            tool_turn("bash", command="until [ -e up ]; do sleep 0.01; done"),
            tool_turn("job", action="read", id=1, wait_s=0.2),
        ):
            memory = MemoryReporter()
            provider = ScriptedProvider(turn, text_turn("done"))
            engine = Engine(provider, tools=coding_tools(tmp_path), approver=allow_all)
            engine.run(session, "go", reporter=memory)
        (result,) = memory.tool_results
        assert re.fullmatch(r"job 1: running for \d\.\d s\nhi\n", result.content)
    assert gone_within(0.5, "401.12")


def test_jobs_end_with_the_session_side_by_side(box: Toolbox) -> None:
    for _ in range(4):
        start(box, "trap '' TERM; while :; do sleep 401.13; done")
    eventually(lambda: len(alive("sleep 401.13")) >= 4)
    began = time.monotonic()
    box.close()
    assert time.monotonic() - began < 3
    assert gone_within(0.5, "401.13")


@pytest.mark.stress
def test_two_hundred_jobs_leave_nothing(box: Toolbox) -> None:
    for number in range(1, 201):
        start(box, f"echo {number}; sleep 401.14")
        read(box, number, wait_s=0.01)
        box.text("job", action="end", id=number)
    assert not alive("401.14")
    assert threading.active_count() <= 2


@pytest.mark.stress
def test_readers_side_by_side_share_the_output(box: Toolbox) -> None:
    start(box, "seq 1 200000")
    pieces: list[str] = []

    def take() -> None:
        while "running" in (text := read(box)).partition("\n")[0]:
            pieces.append(output(text))
        pieces.append(output(text))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = [int(n) for piece in pieces for n in re.findall(r"^\d{6}$", piece, re.MULTILINE)]
    assert len(numbers) == len(set(numbers))
