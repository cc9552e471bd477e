"""The demo's model: a script that reads the results it is sent, as a real model would.

`reply_to` is given the body of one request and knows nothing else, so the history alone says how
far the story has come. A result that isn't what the task makes it, or a history that a real
server would refuse, raises ScriptFailed: the demo proves something only because it can fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from claw.demo.project import BUG, FILES, FIX, MODULE, TESTS
from claw.values import frozen

TASK = "The tests of this project fail. Find out why, and fix it."
USED_TOOLS = ("read_file", "bash", "edit_file")
FAILURE = "'1 h 62 min 5 s' != '1 h 2 min 5 s'"
DENIED = "denied"


class ScriptFailed(Exception):
    """What was sent is wrong; the message says what, in words for the demo's user."""


@frozen
class Call:
    """A tool call the model asks for."""

    name: str
    arguments: Mapping[str, Any]


@frozen
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
    results = [each["content"] for each in takewhile(is_result, reversed(messages))][::-1]
    step = sum(each["role"] == "assistant" for each in messages)
    if step and not results:
        raise ScriptFailed("the script knows one task only, and it is over")
    scene = SCENES[step]
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


def is_result(message: Mapping[str, Any]) -> bool:
    return bool(message["role"] == "tool")


def look(results: Sequence[str], test_command: str) -> Reply:
    return Reply(
        "I’ll read the module and its tests first.",
        [Call("read_file", {"path": MODULE}), Call("read_file", {"path": TESTS})],
    )


def run_tests(results: Sequence[str], test_command: str) -> Reply:
    for name, result in zip((MODULE, TESTS), results, strict=True):
        for line in FILES[name].splitlines():
            expect(line in result, f"read_file {name} lacks the line {line.strip()!r}", result)
    return Reply(
        "`minutes` looks wrong: the full hours are still in it. The tests will tell.",
        [Call("bash", {"command": test_command})],
    )


def edit(results: Sequence[str], test_command: str) -> Reply:
    (result,) = results
    expect(
        result.startswith("exit code 1 "), "the test run should have ended with exit code 1", result
    )
    expect("FAILED (failures=1)" in result, "the test run should have had one failure", result)
    expect(FAILURE in result, f"the test run should have said {FAILURE}", result)
    return Reply(
        "As expected: “62 min” → an hour too many. I take the full hours off first.",
        [Call("edit_file", {"path": MODULE, "edits": [{"old_text": BUG, "new_text": FIX}]})],
    )


def run_tests_again(results: Sequence[str], test_command: str) -> Reply:
    (result,) = results
    expect(f"edited {MODULE}" in result, f"edit_file should have edited {MODULE}", result)
    expect(f"+{FIX}" in result, f"edit_file should have shown the new line {FIX.strip()!r}", result)
    return Reply("Now the same tests again.", [Call("bash", {"command": test_command})])


def answer(results: Sequence[str], test_command: str) -> Reply:
    (result,) = results
    ran = re.search(r"Ran 2 tests in \S+", result)
    passed = ran and "OK" in result and result.startswith("exit code 0 ")
    expect(bool(passed), "the tests should have passed", result)
    assert ran is not None
    return Reply(
        f"Fixed: 3725 seconds are “1 h 2 min 5 s” again, no longer “1 h 62 min 5 s”.\n"
        f"One line of {MODULE} had to change. The tests: “{ran[0]}”, “OK”."
    )


def expect(right: bool, words: str, result: str) -> None:
    if not right:
        raise ScriptFailed(f"{words}; the result is {result[:200]!r}")


@frozen
class Scene:
    """One reply of the story; `when_denied` is said when the calls before it were not allowed."""

    play: Callable[[Sequence[str], str], Reply]
    when_denied: str = ""


SCENES = (
    Scene(look),
    Scene(run_tests, "Without reading the files I can’t say what is wrong, so I stop here."),
    Scene(
        edit,
        f"I may not run the tests, so I haven’t seen them fail, and change nothing.\n"
        f"By reading alone: `{BUG.strip()}` in {MODULE} counts the full hours too.",
    ),
    Scene(
        run_tests_again,
        f"Then the file stays as it is. What I would have changed in {MODULE}:\n"
        f"`{BUG.strip()}` becomes `{FIX.strip()}`.",
    ),
    Scene(
        answer,
        f"The change is in {MODULE}, but I may not run the tests again: it is unproven.",
    ),
)
