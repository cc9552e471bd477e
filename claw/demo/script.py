"""The demo's model: a script that reads the results it is sent, as a real model would.

`reply_to` is given the body of one request and knows nothing else, so the history alone says how
far the story has come. A result that isn't what the task makes it, or a history that a real
server would refuse, raises ScriptFailed: the demo proves something only because it can fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from claw.demo.project import BUG, FILES, FIX, MODULE, TESTS

TASK = "The tests of this project fail. Find out why, and fix it."
USED_TOOLS = ("read_file", "bash", "edit_file")
FAILURE = "'1 h 62 min 5 s' != '1 h 2 min 5 s'"
DENIED = "denied"


class ScriptFailed(Exception):
    """What was sent is wrong; the message says what, in words for the demo's user."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call the model asks for."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model: text, then calls."""

    text: str
    calls: Sequence[Call] = ()


def reply_to(request: Mapping[str, Any], test_command: str) -> Reply:
    """The model's next reply to the body of a chat completions request.

    test_command: the shell command that runs the project's tests. Raises ScriptFailed.
    """
    messages = [each for each in request["messages"] if each["role"] != "system"]
    check_history(messages)
    check_tools(request)
    replies = [each for each in messages if each["role"] == "assistant"]
    results = (
        [each["content"] for each in messages[-len(calls_of(replies[-1])) :]] if replies else []
    )
    if len(replies) >= len(SCENES):
        raise ScriptFailed("the story is over, and a further request came")
    scene = SCENES[len(replies)]
    if any(result.startswith(DENIED) for result in results):
        return Reply(scene.when_denied)
    return scene.play(results, test_command)


def check_history(messages: Sequence[Mapping[str, Any]]) -> None:
    """What every real server insists on: calls are answered at once, in order, each once."""
    if not messages or messages[0]["role"] != "user":
        raise ScriptFailed("the history doesn't begin with a user message")
    owed: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if not owed or message["tool_call_id"] != owed.pop(0):
                raise ScriptFailed(f"{message['tool_call_id']} isn't the call to be answered next")
        elif owed:
            raise ScriptFailed(f"these calls are not answered: {', '.join(owed)}")
        owed = owed or [call["id"] for call in calls_of(message)]
    if owed:
        raise ScriptFailed(f"these calls are not answered: {', '.join(owed)}")
    if messages[-1]["role"] == "assistant":
        raise ScriptFailed("the history ends with the model's own words")


def check_tools(request: Mapping[str, Any]) -> None:
    offered = {tool["function"]["name"] for tool in request.get("tools", ())}
    missing = [name for name in USED_TOOLS if name not in offered]
    if missing:
        raise ScriptFailed(f"these tools are not offered: {', '.join(missing)}")


def calls_of(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return message.get("tool_calls") or ()


def look(results: Sequence[str], test_command: str) -> Reply:
    return Reply(
        "I’ll look at the module and its tests first.",
        [Call("read_file", {"path": MODULE}), Call("read_file", {"path": TESTS})],
    )


def run_tests(results: Sequence[str], test_command: str) -> Reply:
    for name, result in zip((MODULE, TESTS), results, strict=True):
        for line in FILES[name].splitlines():
            expect(line in result, f"read_file {name} lacks the line {line.strip()!r}", result)
    return Reply(
        "`minutes` looks wrong: it doesn’t leave out the full hours. The tests should show it.",
        [Call("bash", {"command": test_command})],
    )


def edit(results: Sequence[str], test_command: str) -> Reply:
    (result,) = results
    expect("FAILED (failures=1)" in result, "the test run should have had one failure", result)
    expect(FAILURE in result, f"the test run should have said {FAILURE}", result)
    return Reply(
        "Indeed: 62 minutes → an hour too many. The hours have to come off first.",
        [Call("edit_file", {"path": MODULE, "edits": [{"old_text": BUG, "new_text": FIX}]})],
    )


def run_tests_again(results: Sequence[str], test_command: str) -> Reply:
    (result,) = results
    expect(MODULE in result, f"edit_file should have named {MODULE}", result)
    return Reply("Now the same tests again.", [Call("bash", {"command": test_command})])


def answer(results: Sequence[str], test_command: str) -> Reply:
    (result,) = results
    ran = re.search(r"Ran 2 tests in \S+", result)
    expect(ran is not None and "OK" in result, "the tests should have passed", result)
    assert ran is not None
    return Reply(
        f"Fixed. `human` counted the full hours into the minutes too, so 3725 s came out as "
        f"“1 h 62 min 5 s”. I changed one line of {MODULE}: the hours are taken off before the "
        f"minutes are counted. The test run says “{ran[0]} … OK”."
    )


def expect(right: bool, words: str, result: str) -> None:
    if not right:
        raise ScriptFailed(f"{words}; the result is {result[:200]!r}")


@dataclass(frozen=True, slots=True)
class Scene:
    """One reply of the story; `when_denied` is said when the calls before it were not allowed."""

    play: Callable[[Sequence[str], str], Reply]
    when_denied: str = ""


SCENES = (
    Scene(look),
    Scene(run_tests, "Without reading the files I can’t say what is wrong, so I stop here."),
    Scene(
        edit,
        f"I may not run the tests, so I haven’t seen them fail, and change nothing. By reading "
        f"alone: `{BUG.strip()}` in {MODULE} counts the full hours too.",
    ),
    Scene(
        run_tests_again,
        f"The file stays as it is. What I would have changed in {MODULE}: `{BUG.strip()}` "
        f"becomes `{FIX.strip()}`.",
    ),
    Scene(answer, f"The change is in {MODULE}, but I may not run the tests: it is unproven."),
)
