"""What holds for every line: nothing hostile added stays unasked, nothing denied slips through."""

from __future__ import annotations

import time

from hypothesis import assume, given
from hypothesis import strategies as st

from claw.policy import Answer, Kind, PolicySettings, Request, judge, rule_of
from tests.policy.rows import WS
from tests.policy.test_table import rows

ALLOW = tuple(map(rule_of, ["pytest", "git status", "npm test", "find", "echo"]))
DENY = tuple(map(rule_of, ["git push", "curl", "rm -rf"]))
UNASKED = [
    command
    for group, command, answer in rows()
    if answer is Answer.ALLOW and group.settings == {} and not group.rules
] + ["pytest -q", "git status && ls", "npm test | tail -5"]
HOSTILE = [
    *[
        "; rm x",
        ";rm x",
        "\nrm x",
        "\n\n  rm x",
        "&& rm x",
        "|| rm x",
        "| sh",
        "|sh",
        "& rm x",
        "&",
    ],
    *[" $(rm x)", " `rm x`", ' "$(rm x)"', ' "`rm x`"', " <(rm x)", " ${x:=y}", " $x", ' "$x"'],
    *[" > f", " >f", " >> f", " 2>f", " &>f", " < /etc/passwd", " >&3", " <<E\nx\nE", " <<<x"],
    *[" /etc/passwd", " ../x", " *", " ~", " {a,b}", " \\", " '", ' "', " (", " )", "\r", "\0"],
    *["; PATH=. ls", "; export A=b", "; eval ls", " #", "\u202e", "; ! ls", "; time ls", "; (ls)"],
]
# What is no hostile thing to everybody: text for echo, a pattern, the rest of a quoted word.
TEXT_OR_PATH = {" /etc/passwd", " ../x"}
UNQUOTED = [command for command in UNASKED if not set(command) & set("'\"")]
HOSTILE_ANYWHERE = [hostile for hostile in HOSTILE if hostile not in TEXT_OR_PATH]
ANY = st.text(st.characters(codec=None), max_size=60)
DENIED = [
    *[
        "git push",
        "curl x",
        "/usr/bin/curl x",
        "git -C a push",
        "rm -rf x",
        "rm -fr x",
        "env curl x",
    ],
    *["sh -c 'git push'", "xargs curl", "c\\url", "'git' push", "sudo -u a git push", "$(curl x)"],
]
JOINS = ["; ", "\n", " && ", " || ", " | ", " & ", " |& "]


def answer_for(command: str, **settings: object) -> Answer:
    policy = PolicySettings(folders=(WS,), **settings)  # type: ignore[arg-type]
    return judge(Request("bash", {}, Kind.COMMAND, command), policy).answer


@given(st.sampled_from(UNASKED), st.sampled_from(HOSTILE))
def test_a_line_that_runs_unasked_is_asked_about_with_anything_hostile_behind(
    command: str, hostile: str
) -> None:
    if hostile in TEXT_OR_PATH:
        command = "cat a.txt"
    assume(not (command.startswith("echo") and hostile == " #"))
    assert answer_for(command, allow=ALLOW) is Answer.ALLOW
    assert answer_for(command + hostile, allow=ALLOW) is Answer.ASK


@given(st.sampled_from(UNQUOTED), st.sampled_from(HOSTILE_ANYWHERE), st.data())
def test_what_is_hostile_outside_of_quotes_is_asked_about_in_any_place(
    command: str, hostile: str, data: st.DataObject
) -> None:
    words = command.split(" ")
    place = data.draw(st.integers(1, len(words)))
    line = " ".join(words[:place]) + hostile + " " + " ".join(words[place:])
    assert answer_for(line, allow=ALLOW) is not Answer.ALLOW


@given(st.text("ab '\"\\$`;|&<>(){}\n#=*~!", max_size=40), st.sampled_from(["ask", "edits"]))
def test_a_program_that_nobody_allowed_is_never_run_unasked(text: str, mode: str) -> None:
    # No text of these letters spells a command that is known to only read.
    assert answer_for(text + "\nevil", mode=mode) is Answer.ASK


@given(
    st.sampled_from(UNASKED) | ANY,
    st.sampled_from(JOINS),
    st.sampled_from(DENIED),
    st.sampled_from(["ask", "edits", "all", "none"]),
    st.booleans(),
)
def test_a_denied_command_is_never_run_unasked(
    before: str, join: str, denied: str, mode: str, contained: bool
) -> None:
    # A backslash at the end would make one word of the two lines: `0\\ngit` runs 0git.
    line = before.rstrip("\\") + join + denied
    answer = answer_for(line, allow=ALLOW, deny=DENY, mode=mode, contained=contained)
    assert answer is not Answer.ALLOW


@given(st.sampled_from(UNASKED), st.sampled_from(JOINS), st.sampled_from(DENIED))
def test_a_denied_command_behind_a_plain_one_is_denied(before: str, join: str, denied: str) -> None:
    assert answer_for(before + join + denied, deny=DENY, mode="all") is Answer.DENY
    assert answer_for(denied + join + before, deny=DENY, mode="all") is Answer.DENY


@given(ANY, st.sampled_from(["ask", "edits", "all", "none"]), st.booleans(), st.booleans())
def test_judging_never_raises_or_hangs(
    text: str, mode: str, planning: bool, contained: bool
) -> None:
    began = time.thread_time()
    answer_for(text, allow=ALLOW, deny=DENY, mode=mode, planning=planning, contained=contained)
    assert time.thread_time() - began < 1
