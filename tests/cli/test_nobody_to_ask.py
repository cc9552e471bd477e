"""What a run without a terminal says of the call that it ended at."""

from __future__ import annotations

from typing import Any

import pytest

from claw import CancelToken, RunStatus, Tool, ToolCall
from claw.cli.nobody_to_ask import NobodyToAsk


def tool(name: str, **options: Any) -> Tool:
    return Tool(name, "", {}, lambda arguments, context: "", **options)


BASH = tool("bash", command="command")


@pytest.mark.parametrize(
    ("asked", "arguments", "told"),
    [
        (BASH, {"timeout_s": 5, "command": "make\nx \u202e"}, "bash (make x <U+202E>)"),
        (
            tool("write_file", edits=True),
            {"n": 0, "path": "a"},
            'write_file ({"n": 0, "path": "a"})',
        ),
        (tool("deploy"), {}, "deploy ({})"),
    ],
)
def test_it_names_the_call_by_what_it_does(
    asked: Tool, arguments: dict[str, Any], told: str
) -> None:
    nobody = NobodyToAsk(cwd="/")
    decision = nobody(ToolCall("1", asked.name, arguments), asked, CancelToken())
    assert (decision.allowed, decision.end) == (False, RunStatus.NEEDS_APPROVAL)
    assert nobody.explain().startswith(f"{told} needed approval and there was nobody to ask: ")


def test_it_says_how_to_allow_the_first_call_that_stopped_it() -> None:
    nobody = NobodyToAsk(cwd="/")
    assert nobody.explain() == ""
    assert nobody(ToolCall("1", "bash", {"command": "ls"}), BASH, CancelToken()).allowed
    for command in ("make test", "rm x"):
        nobody(ToolCall("1", "bash", {"command": command}), BASH, CancelToken())
    assert nobody.explain().endswith(
        'run it in a terminal, or allow it with allow = ["make test"] in config.toml, '
        "or --approve all"
    )


def test_it_names_no_mode_that_would_ask_too() -> None:
    nobody = NobodyToAsk(cwd="/")
    hook = tool("write_file", edits=True, protected=lambda arguments, context: "it is a git hook")
    nobody(ToolCall("1", "write_file", {"path": ".git/hooks/x"}), hook, CancelToken())
    assert nobody.explain().endswith("nobody to ask: it is a git hook; run it in a terminal")
