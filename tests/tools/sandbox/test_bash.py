"""What the model and the user are told of the sandbox."""

from __future__ import annotations

import os
import shutil

import pytest

from claw.approval import Rules
from claw.cancel import CancelToken
from claw.messages import ToolCall
from claw.policy import Answer, PolicySettings
from claw.tools.schema import problem_with
from tests.tools.sandbox.conftest import OpenBox, Places, SandboxedToolbox


def test_outside_is_offered_where_there_is_an_inside(confined: SandboxedToolbox) -> None:
    bash = confined.tools.get("bash")
    assert bash is not None
    assert bash.parameters["properties"]["outside_sandbox"]["type"] == "boolean"
    assert f"write only in {confined.root} and $TMPDIR, and have no network" in bash.description


def test_without_a_sandbox_nothing_is_offered(open_box: OpenBox) -> None:
    bash = open_box("none").tools.get("bash")
    assert bash is not None
    assert "outside_sandbox" not in bash.parameters["properties"]
    assert "sandbox" not in bash.description
    assert bash.caution is None
    assert problem_with({"command": "true"}, bash.parameters) is None


def test_to_leave_it_is_asked_about(confined: SandboxedToolbox) -> None:
    words = "asks to run outside the sandbox"
    assert confined.protected("bash", command="ls", outside_sandbox=True) == words
    assert confined.protected("bash", command="ls", outside_sandbox=False) is None
    assert confined.protected("bash", command="ls") is None


@pytest.mark.parametrize("mode", ["ask", "edits", "all"])
def test_to_leave_it_is_asked_about_in_every_mode(confined: SandboxedToolbox, mode: str) -> None:
    bash = confined.tools.get("bash")
    assert bash is not None
    rules = Rules(
        cwd=confined.root,
        settings=PolicySettings.of(mode, allow=["ls"]),
    )
    call = ToolCall("1", "bash", {"command": "ls", "outside_sandbox": True})
    rules.grant(call, bash)
    verdict = rules.verdict(call, bash, CancelToken())
    assert (verdict.answer, verdict.reason) == (Answer.ASK, "asks to run outside the sandbox")
    assert not verdict.grantable


def test_a_required_one_is_never_left(kind: str, open_box: OpenBox, places: Places) -> None:
    box = open_box(kind, mode="require")
    bash = box.tools.get("bash")
    assert bash is not None
    assert "outside_sandbox" not in bash.parameters["properties"]
    asks = {"command": "true", "outside_sandbox": True}
    assert problem_with(asks, bash.parameters) is not None
    text = box.text("bash", command=f"touch {places.out}/f; touch .envrc; exit 1")
    assert "it may be the sandbox" in text
    assert ".envrc was made" in text
    assert "outside_sandbox" not in text
    bash.run({**asks, "command": f"touch {places.out}/f"}, box.context("bash"))
    assert os.listdir(places.out) == []


def test_a_command_in_the_background_is_asked_about_where_others_pass(open_box: OpenBox) -> None:
    words = "it runs in the background, where what it writes is looked at only when it ends"
    assert open_box("bubblewrap").caution("bash", command="x", background=True) == words
    assert open_box("landlock").caution("bash", command="x", background=True) is None


def test_a_sandbox_that_went_away_is_called_by_its_name(open_box: OpenBox, places: Places) -> None:
    program = places.out / "bwrap"
    program.write_text(f'#!/bin/sh\nexec {shutil.which("bwrap")} "$@"\n')
    program.chmod(0o755)
    box = open_box("bubblewrap", environ={"PATH": f"{places.out}:{os.environ['PATH']}"})
    assert box.output("echo hi") == "hi\n"
    program.unlink()
    assert box.refusal("bash", command="true") == f"not run: {program} is no longer there"


def test_outside_there_is_no_sandbox(confined: SandboxedToolbox, places: Places) -> None:
    command = f"echo x > {places.out}/f; echo ${{TMPDIR-}}"
    confined.env.pop("TMPDIR", None)
    assert confined.text("bash", command=command, outside_sandbox=True).endswith("\n\n")
    assert (places.out / "f").read_text() == "x\n"


def test_a_refusal_ends_with_what_is_allowed(confined: SandboxedToolbox, places: Places) -> None:
    text = confined.text("bash", command=f"touch {places.out}/f")
    hint = text.splitlines()[-1]
    assert hint.startswith(
        f"(it may be the sandbox: commands write only in {places.ws} and $TMPDIR"
    )
    assert hint.endswith("outside_sandbox=true asks the user to run a command outside of it)")
    assert not (places.out / "f").exists()


@pytest.mark.parametrize(
    "command", ["echo Permission denied", "ls /nonexistent", "exit 1", "touch x", "false | true"]
)
def test_other_failures_say_nothing_of_it(confined: SandboxedToolbox, command: str) -> None:
    assert "sandbox" not in confined.text("bash", command=command)


def test_no_hint_without_a_sandbox_and_outside_of_it(
    confined: SandboxedToolbox, open_box: OpenBox
) -> None:
    command = "echo Permission denied; exit 1"
    assert "sandbox" not in open_box("none").text("bash", command=command)
    assert "sandbox" not in confined.text("bash", command=command, outside_sandbox=True)
