"""The decision table, row by row, and what holds for all of its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from claw.policy import Answer, Grant, Kind, PolicySettings, Request, Verdict, judge, rule_of
from tests.policy.rows import GROUPS, WS, Group

CASES = Path(__file__).parent.parent / "cases" / "safety"
ANSWERS = {"allow": Answer.ALLOW, "ask": Answer.ASK, "deny": Answer.DENY}


def settings_of(group: Group) -> PolicySettings:
    return PolicySettings(
        allow=tuple(map(rule_of, group.rules)),
        deny=tuple(map(rule_of, group.denied)),
        folders=(WS,),
        **group.settings,
    )


def rows() -> Iterator[tuple[Group, str, Answer]]:
    for group in GROUPS:
        for name, answer in ANSWERS.items():
            for command in getattr(group, name):
                yield group, command.replace("$WS", WS), answer


def judge_command(command: str, settings: PolicySettings, **said: Any) -> Verdict:
    return judge(Request("bash", {}, Kind.COMMAND, command, **said), settings)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.about[:40])
def test_every_row_gets_its_answer(group: Group) -> None:
    settings = settings_of(group)
    wrong = [
        f"{command[:200]!r}: {verdict} instead of {answer.value}"
        for of, command, answer in rows()
        if of is group and (verdict := judge_command(command, settings)).answer is not answer
    ]
    assert wrong == []


def test_what_is_asked_about_or_denied_has_a_reason_of_one_line() -> None:
    for group, command, answer in rows():
        verdict = judge_command(command, settings_of(group))
        if answer is not Answer.ALLOW:
            assert verdict.reason, command
            assert "\n" not in verdict.reason.replace(command, ""), command


def test_the_setting_that_a_question_names_lets_the_command_pass() -> None:
    named = 0
    for group, command, answer in rows():
        settings = settings_of(group)
        verdict = judge_command(command, settings)
        if answer is Answer.ASK and verdict.remedy:
            named += 1
            rules = json.loads(verdict.remedy.removeprefix("allow = "))
            allow = (*settings.allow, *map(rule_of, rules))
            again = PolicySettings(allow=allow, deny=settings.deny, folders=(WS,))
            assert judge_command(command, again).answer is Answer.ALLOW, command
    assert named > 50


def test_a_grant_is_offered_where_it_would_let_the_command_pass_and_nowhere_else() -> None:
    offered = 0
    for group, command, _ in rows():
        for caution, protected in (("", ""), ("outside", ""), ("", "a git hook")):
            settings = settings_of(group)
            verdict = judge_command(command, settings, caution=caution, protected=protected)
            granted = replace(settings, granted=frozenset({Grant("bash", command)}))
            again = judge_command(command, granted, caution=caution, protected=protected)
            passes = verdict.answer is Answer.ASK and again.answer is Answer.ALLOW
            assert verdict.grantable is passes, (command, settings, caution, protected)
            offered += passes
    assert offered > 100


def test_the_path_of_everything_that_is_read_is_handed_on() -> None:
    settings = PolicySettings(folders=(WS,))
    verdict = judge_command("cd src && grep -n x a.txt b/c | head -n 5", settings)
    assert verdict.reads == ("src", "a.txt", "b/c", "src/a.txt", "src/b/c")


@pytest.mark.parametrize("path", sorted(CASES.glob("approval-*.json")), ids=lambda p: p.stem)
def test_safety_case(path: Path) -> None:
    case = json.loads(path.read_text())
    arguments, expect = case["action"]["arguments"], case["expect"]
    rules = {name: tuple(map(rule_of, arguments["rules"][name])) for name in ("allow", "deny")}
    answer = judge_command(arguments["command"], PolicySettings(**rules, folders=(WS,))).answer
    assert expect in ({"needs_approval": answer is not Answer.ALLOW}, {"allowed": False})
    assert (answer is Answer.DENY) is (expect == {"allowed": False})
