"""The model's thinking through the real command: asked for, shown, sent back where it must be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.command import Shell
from tests.support.server import reply, serve, status, stream
from tests.support.wire import chunk, text_reply, tool_reply

THOUGHT = chunk({"reasoning_content": "First I look."})
LOOK = stream(THOUGHT, *tool_reply(("call_1", "bash", {"command": "echo hi"})))
ANSWER = stream(chunk({"reasoning_content": "Now I know."}), *text_reply("It says hi."))


@pytest.mark.parametrize(
    ("preset", "sent_back"),
    [("deepseek", "First I look."), ("openrouter", "First I look."), ("groq", None)],
)
def test_thinking_goes_back_where_the_server_wants_it(
    shell: Shell, preset: str, sent_back: str | None
) -> None:
    with serve(LOOK, ANSWER) as server:
        shell.config.write_text(f'[presets.{preset}]\nbase_url = "{server.url}"\n')
        done = shell.claw(
            "run", "Look", "--provider", preset, "--model", "m",
            "--approve", "all", "--output", "json",
        )  # fmt: skip
        assistant = server.requests[1].messages[-2]
    assert done.code == 0, done
    assert done.envelope["text"] == "It says hi."
    assert assistant["tool_calls"][0]["id"] == "call_1"
    assert assistant.get("reasoning_content") == sent_back


def test_thinking_is_an_event_of_its_own_and_no_text(shell: Shell) -> None:
    with serve(ANSWER) as server:
        variables = {"CLAW_BASE_URL": server.url, "CLAW_MODEL": "m"}
        lines = shell.claw("run", "Look", "--output", "jsonl", **variables)
        plain = shell.claw("run", "Look", **variables)
        verbose = shell.claw("run", "Look", "--verbose", **variables)
    kinds = {e["type"]: e["text"] for e in lines.events if e["type"].endswith("_delta")}
    assert kinds == {"reasoning_delta": "Now I know.", "text_delta": "It says hi."}
    assert plain.out == verbose.out == "It says hi.\n"
    assert "Now I know" not in plain.err
    assert "Now I know" in verbose.err


@pytest.mark.parametrize(
    ("preset", "level", "fields"),
    [
        ("generic", "high", {"reasoning_effort": "high"}),
        ("openrouter", "off", {"reasoning": {"effort": "none"}}),
        ("deepseek", "off", {"thinking": {"type": "disabled"}}),
        ("anthropic", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8192}}),
    ],
)
def test_the_effort_is_said_in_the_servers_words(
    shell: Shell, preset: str, level: str, fields: dict[str, Any]
) -> None:
    with serve(status(401, "enough")) as server:
        for arguments, config in [(("--effort", level), ""), ((), f'effort = "{level}"')]:
            shell.config.write_text(f'{config}\n[presets.{preset}]\nbase_url = "{server.url}"\n')
            shell.claw("run", "Go", "--provider", preset, "--model", "m", *arguments)
        for request in server.requests:
            assert fields.items() <= request.body.items()
            if "budget_tokens" in str(fields):
                assert request.body["max_tokens"] > 8192
    assert len(server.requests) == 2


def test_nothing_is_said_of_it_unasked(shell: Shell) -> None:
    with serve(reply("Hi")) as server:
        shell.claw("run", "Go", CLAW_BASE_URL=server.url, CLAW_MODEL="m")
    assert not {"reasoning", "reasoning_effort", "thinking"} & server.requests[0].body.keys()


def test_a_level_that_is_none_is_a_usage_error(shell: Shell) -> None:
    done = shell.claw("run", "Go", "--effort", "huge")
    assert done.code == 2
    assert "'off', 'low', 'medium', 'high'" in done.err
