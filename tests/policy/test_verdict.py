"""The decision about calls that are no commands, and what tools say about a call."""

from __future__ import annotations

import time

import pytest

from claw.errors import ConfigError
from claw.policy import Answer, Grant, Kind, PolicySettings, Request, Verdict, judge, rule_of


def answer(kind: Kind, mode: str = "ask", *, name: str = "tool", **more: object) -> Answer:
    said = {key: str(more.pop(key)) for key in ("caution", "protected") if key in more}
    return judge(Request(name, {}, kind, **said), PolicySettings(mode=mode, **more)).answer  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        # ask, edits, all, none, and while planning in mode all
        (Kind.READ, "allow allow allow allow allow"),
        (Kind.EDIT, "ask allow allow deny deny"),
        (Kind.OTHER, "ask ask allow deny deny"),
    ],
)
def test_what_passes_in_each_mode(kind: Kind, answers: str) -> None:
    found = [answer(kind, mode) for mode in ("ask", "edits", "all", "none")]
    found.append(answer(kind, "all", planning=True))
    assert [each.value for each in found] == answers.split()


@pytest.mark.parametrize("kind", [Kind.READ, Kind.EDIT, Kind.OTHER])
def test_a_caution_is_asked_about_unless_everything_is_allowed(kind: Kind) -> None:
    assert answer(kind, "ask", caution="outside") is Answer.ASK
    assert answer(kind, "edits", caution="outside") is Answer.ASK
    assert answer(kind, "all", caution="outside") is Answer.ALLOW
    assert answer(kind, "none", caution="outside") is Answer.DENY


@pytest.mark.parametrize("mode", ["ask", "edits", "all"])
def test_what_is_protected_is_asked_about_in_every_mode_and_against_every_grant(mode: str) -> None:
    granted = frozenset({Grant("tool")})
    for kind in (Kind.READ, Kind.EDIT, Kind.OTHER):
        assert answer(kind, mode, protected="a git hook", granted=granted) is Answer.ASK


def test_reading_with_a_caution_while_planning_is_asked_about() -> None:
    assert answer(Kind.READ, planning=True, caution="outside") is Answer.ASK
    assert answer(Kind.READ, planning=True, protected="a key") is Answer.ASK


def test_a_grant_is_for_one_tool_and_not_for_a_cautioned_call() -> None:
    granted = frozenset({Grant("tool")})
    assert answer(Kind.OTHER, granted=granted) is Answer.ALLOW
    assert answer(Kind.OTHER, granted=granted, name="other") is Answer.ASK
    assert answer(Kind.OTHER, granted=granted, caution="outside") is Answer.ASK


def test_a_grant_for_a_tool_is_none_for_its_commands() -> None:
    settings = PolicySettings(granted=frozenset({Grant("bash")}))
    assert judge(Request("bash", {}, Kind.COMMAND, "make"), settings).answer is Answer.ASK


def test_a_rule_of_one_word_can_name_a_tool() -> None:
    rules = (rule_of("tool"),)
    assert answer(Kind.OTHER, allow=rules) is Answer.ALLOW
    assert answer(Kind.EDIT, allow=rules) is Answer.ALLOW
    assert answer(Kind.OTHER, allow=rules, name="tools") is Answer.ASK
    for mode in ("ask", "edits", "all", "none"):
        assert answer(Kind.READ, mode, deny=rules) is Answer.DENY
        assert answer(Kind.OTHER, mode, deny=rules, allow=rules) is Answer.DENY


def test_a_rule_that_names_the_tool_for_commands_allows_no_command() -> None:
    settings = PolicySettings(allow=(("bash",),))
    assert judge(Request("bash", {}, Kind.COMMAND, "rm x"), settings).answer is Answer.ASK
    denied = PolicySettings(deny=(("bash",),), mode="all")
    assert judge(Request("bash", {}, Kind.COMMAND, "ls"), denied).answer is Answer.DENY


def test_what_a_tool_says_about_a_command_comes_first() -> None:
    settings = PolicySettings(allow=(("make",),))
    request = Request("bash", {}, Kind.COMMAND, "make", caution="outside of the sandbox")
    assert judge(request, settings) == Verdict(Answer.ASK, "outside of the sandbox")
    request = Request("bash", {}, Kind.COMMAND, "ls", caution="outside of the sandbox")
    assert judge(request, PolicySettings(mode="none")).answer is Answer.DENY


def test_reasons_and_the_settings_that_would_help() -> None:
    def of(command: str, **settings: object) -> Verdict:
        policy = PolicySettings(**settings)  # type: ignore[arg-type]
        return judge(Request("bash", {}, Kind.COMMAND, command), policy)

    assert of("ls > f") == Verdict(Answer.ASK, "a redirect into a file", grantable=True)
    assert of("pytest -q").remedy == 'allow = ["pytest -q"]'
    assert of("make; pytest 'a b'").remedy == 'allow = ["make", "pytest \'a b\'"]'
    assert of('make "it\'s"').remedy == 'allow = ["make \\"it\'s\\""]'
    assert of("make \"it's\"'$x'").remedy == ""
    assert of("pytest -q").reason == "pytest isn't a command that is known to only read"
    assert of("sort -o x").reason == "sort -o isn't known to only read"
    assert of("cat /etc/passwd").reason == "/etc/passwd may be outside the workspace"
    assert of("curl x", deny=(("curl",),)).reason == 'the rule deny = ["curl"] forbids it'
    assert of("$x", deny=(("curl",),)).reason == 'the rule deny = ["curl"] may be about it'
    edit = judge(Request("write_file", {}, Kind.EDIT), PolicySettings())
    assert (edit.reason, edit.remedy) == ("it changes a file", 'allow = ["write_file"]')


def test_rules_are_plain_words() -> None:
    assert rule_of("  git   status ") == ("git", "status")
    assert rule_of("sh -c 'make all'") == ("sh", "-c", "make all")
    for text in ("", "git && ls", "git *", "$x", "ls > f", "git\nls"):
        with pytest.raises(ConfigError, match="rule"):
            rule_of(text)


def test_settings_are_made_of_texts_and_of_words_but_not_of_a_mixture() -> None:
    made = PolicySettings.of("edits", allow=["git diff", "make 'a b'"], deny=["rm"])
    assert made == PolicySettings("edits", (("git", "diff"), ("make", "a b")), (("rm",),))
    with pytest.raises(ConfigError, match=r"more than one command"):
        PolicySettings.of(deny=["rm; ls"])
    for texts in ({"allow": ("git diff",)}, {"deny": ("rm",)}, {"deny": "rm"}):
        with pytest.raises(ConfigError, match=r"PolicySettings\.of takes texts"):
            PolicySettings(**texts)  # type: ignore[arg-type]


def test_a_mode_that_there_is_not_is_no_silent_ask() -> None:
    with pytest.raises(ConfigError, match="ask, edits, all, none"):
        PolicySettings(mode="edit")


def test_with_mode_none_nothing_is_asked_while_planning_either() -> None:
    assert answer(Kind.READ, "none", planning=True, caution="outside") is Answer.DENY


def test_rules_without_words_match_nothing() -> None:
    settings = PolicySettings(allow=((),), deny=((),))
    assert judge(Request("bash", {}, Kind.COMMAND, "make"), settings).answer is Answer.ASK


def test_the_folder_at_the_top_holds_everything_but_devices() -> None:
    def of(command: str) -> Answer:
        request = Request("bash", {}, Kind.COMMAND, command)
        return judge(request, PolicySettings(folders=("/",))).answer

    assert of("cat /etc/hosts") is Answer.ALLOW
    assert of("cat /dev/zero") is Answer.ASK


def test_a_line_as_models_write_it_is_judged_in_no_time() -> None:
    settings = PolicySettings.of(allow=["pytest"], deny=["git push", "rm -rf"])
    line = "cd src && grep -rn 'def main' . | head -20 && pytest -q tests 2>&1 | tail -5"
    request = Request("bash", {}, Kind.COMMAND, line)
    judge(request, settings)  # the grammar is loaded now
    began = time.thread_time()
    for _ in range(100):
        assert judge(request, settings).answer is Answer.ALLOW
    assert (time.thread_time() - began) / 100 < 0.0022  # measured: 0.22 ms


ENDLESS = [
    *["a;", "a|", "ls&&", "eval ", "env ", "x ", "c* ", "$(", "`", "(", "{a,", "[c", "$", "'a'b"],
    *["sh -c 'a';", "find -exec a \\; ", "cat <<A <<B\n", "a=( ", "case x in ", "\\\n", "\n", " "],
    *['"$x" ', "--recurs ", "-rvx ", "git ", "rm ", "**c", "@(c", "uv run ", "A=b "],
]


@pytest.mark.parametrize("unit", ENDLESS)
@pytest.mark.parametrize("start", ["", "eval '"])
def test_a_line_of_any_size_is_judged_in_a_bounded_time(start: str, unit: str) -> None:
    rules = ["git push", "rm -rf", "curl", "chmod -R", "npm publish"]
    deny = tuple(map(rule_of, rules))
    allow = tuple(map(rule_of, ["pytest", "make test", "git diff"]))
    for size in (9_000, 130_000):
        for settings in (PolicySettings("all", deny=deny), PolicySettings(allow=allow)):
            line = (start + unit * size)[:size]
            request = Request("bash", {}, Kind.COMMAND, line)
            # Once of some: the rest is what the machine did besides. Measured: 0.13 s.
            assert any(_time_to_judge(request, settings) < 0.3 for _ in range(3))


def _time_to_judge(request: Request, settings: PolicySettings) -> float:
    began = time.thread_time()
    judge(request, settings)
    return time.thread_time() - began


def test_a_line_too_long_to_be_taken_apart_is_asked_about_and_denied_for_a_mention() -> None:
    def of(command: str) -> Answer:
        settings = PolicySettings.of("all", deny=["git push"])
        return judge(Request("bash", {}, Kind.COMMAND, command), settings).answer

    for long in ("a;" * 60_000, "eval " * 20_000, "x " * 60_000, "sh -c 'a'; " * 1_000):
        assert of(f"{long} x") is Answer.ASK
        assert of(f"{long} git push") is Answer.DENY


def test_the_package_has_what_it_names_and_nothing_else() -> None:
    import claw.policy

    assert all(hasattr(claw.policy, name) for name in claw.policy.__all__)
    assert not hasattr(claw.policy, "nothing")
