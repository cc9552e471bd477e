"""The script reads what it is sent: right results carry the story on, wrong ones end it."""

import json

import pytest

from claw.demo.project import BUG, FILES, FIX, MODULE, TESTS
from claw.demo.script import FAILURE, SCENES, TASK, USED_TOOLS, Reply, ScriptFailed, reply_to

COMMAND = "python3 -m unittest"
FAILED = f"exit code 1 after 0.1 s\n{FAILURE}\nRan 2 tests in 0.001s\n\nFAILED (failures=1)"
PASSED = "exit code 0 after 0.1 s\n..\nRan 2 tests in 0.001s\n\nOK"
EDITED = f"edited {MODULE}: 1 replacement\n--- a/{MODULE}\n-{BUG}\n+{FIX}\n"

# What a right client sends back, scene by scene.
RESULTS = [
    [FILES[MODULE], FILES[TESTS]],
    [FAILED],
    [EDITED],
    [PASSED],
]


def request_of(messages, tools=USED_TOOLS):
    return {
        "messages": [{"role": "system", "content": "be good"}, *messages],
        "tools": [{"type": "function", "function": {"name": name}} for name in tools],
    }


def assistant(reply: Reply, step: int):
    calls = [
        {
            "id": f"call_{step}_{index}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(reply.calls)
    ]
    return {"role": "assistant", "content": reply.text, "tool_calls": calls}


def history(results):
    """The conversation so far when the calls were answered with `results`, scene by scene."""
    messages = [{"role": "user", "content": TASK}]
    for step, contents in enumerate(results):
        messages.append(assistant(reply_to(request_of(messages), COMMAND), step))
        for index, content in enumerate(contents):
            messages.append(
                {"role": "tool", "tool_call_id": f"call_{step}_{index}", "content": content}
            )
    return messages


def reply_after(results):
    return reply_to(request_of(history(results)), COMMAND)


def test_right_results_lead_to_the_end_of_the_story():
    replies = [reply_after(RESULTS[:step]) for step in range(len(RESULTS) + 1)]
    assert [[call.name for call in reply.calls] for reply in replies] == [
        ["read_file", "read_file"],
        ["bash"],
        ["edit_file"],
        ["bash"],
        [],
    ]
    assert "Ran 2 tests in 0.001s" in replies[-1].text


@pytest.mark.parametrize(
    ("step", "doctored"),
    [
        (0, ["no such file", FILES[TESTS]]),
        (0, [FILES[TESTS], FILES[MODULE]]),
        (0, [FILES[MODULE], ""]),
        (1, [PASSED]),
        (1, [FAILED.replace(FAILURE, "")]),
        (1, [FAILED.replace("code 1", "code 0")]),
        (1, [FAILED.replace("code 1", "code 127")]),
        (1, ["python3: command not found"]),
        (2, ["the tool itself failed"]),
        (2, [f"edited {MODULE}: 1 replacement"]),
        (3, [FAILED]),
        (3, [PASSED.replace("code 0", "code 1")]),
        (3, [PASSED.replace("2 tests", "0 tests")]),
        (3, [""]),
    ],
)
def test_a_wrong_result_ends_the_story(step, doctored):
    with pytest.raises(ScriptFailed, match="the result is"):
        reply_after([*RESULTS[:step], doctored])


@pytest.mark.parametrize("step", range(len(RESULTS)))
def test_a_denied_call_is_taken_for_an_answer(step):
    denied = [f"denied: {words}" for words in RESULTS[step]]
    reply = reply_after([*RESULTS[:step], denied])
    assert not reply.calls
    assert reply.text == SCENES[step + 1].when_denied != ""


def call_message(*ids):
    calls = [{"id": each, "function": {"name": "bash", "arguments": "{}"}} for each in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result_message(call_id):
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


USER = {"role": "user", "content": TASK}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "begin with a user message"),
        ([call_message("a")], "begin with a user message"),
        ([USER, call_message("a")], "not answered: a"),
        ([USER, call_message("a", "b"), result_message("a")], "not answered: b"),
        ([USER, call_message("a"), USER], "not answered: a"),
        ([USER, call_message("a", "b"), result_message("b"), result_message("a")], "b isn't"),
        ([USER, result_message("a")], "a isn't the call"),
        ([USER, call_message("a"), result_message("a"), result_message("a")], "a isn't the call"),
        ([USER, {"role": "assistant", "content": "hm"}], "the model's own words"),
    ],
)
def test_a_broken_history_is_refused(messages, words):
    with pytest.raises(ScriptFailed, match=words):
        reply_to(request_of(messages), COMMAND)


def test_a_tool_that_is_not_offered_is_named():
    with pytest.raises(ScriptFailed, match="not offered: edit_file"):
        reply_to(request_of([USER], tools=["read_file", "bash"]), COMMAND)


def test_a_request_after_the_end_is_refused():
    messages = history(RESULTS)
    messages += [assistant(Reply("done"), 4), {"role": "user", "content": "more"}]
    with pytest.raises(ScriptFailed, match="one task only"):
        reply_to(request_of(messages), COMMAND)
