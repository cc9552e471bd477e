"""What the model and the user are told of the sandbox."""

from __future__ import annotations

import pytest

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
    assert confined.caution("bash", command="ls", outside_sandbox=True) == words
    assert confined.caution("bash", command="ls", outside_sandbox=False) is None
    assert confined.caution("bash", command="ls") is None


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
