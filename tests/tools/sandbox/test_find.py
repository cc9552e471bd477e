"""Which sandbox is taken, and what is said about it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from claw.errors import ConfigError
from claw.tools.sandbox import find_sandbox, sandbox_findings
from claw.tools.sandbox.base import Inside
from tests.tools.sandbox.conftest import NO_PROGRAMS, Places, sandbox_of

# Neither is a sandbox for a workspace that holds the Python which would set it up.
NOT_TO_BE_HAD = {
    "workspace": Path(sys.executable).resolve().parent,
    "environ": {"PATH": NO_PROGRAMS},
}


def test_bubblewrap_is_full_unless_it_has_the_network(places: Places) -> None:
    sandbox = sandbox_of("bubblewrap", places)
    assert sandbox.full
    assert "without network" in sandbox.about()
    sandbox = sandbox_of("bubblewrap", places, net=True)
    assert not sandbox.full
    assert "with the network" in sandbox.about()


def test_landlock_is_not_full_and_says_what_it_lets_through(places: Places) -> None:
    sandbox = sandbox_of("landlock", places)
    assert not sandbox.full
    assert "it doesn't stop changes of mode, owner and time on files outside" in sandbox.about()
    assert "bubblewrap (bwrap) is not installed" in sandbox.about()


def test_off_says_so_and_changes_nothing(places: Places) -> None:
    sandbox = find_sandbox("off", workspace=places.ws)
    assert (sandbox.name, sandbox.full, sandbox.in_force) == ("none", False, False)
    assert sandbox.about() == "sandbox off: commands run with all your rights"
    assert sandbox.command(Inside(["a", "b"], places.ws)) == ["a", "b"]


def test_none_to_be_had_is_told_with_the_reasons() -> None:
    sandbox = find_sandbox("auto", **NOT_TO_BE_HAD)  # type: ignore[arg-type]
    assert sandbox.name == "none"
    assert sandbox.about().startswith("no sandbox: bubblewrap (bwrap) is not installed; Landlock")
    assert sandbox.about().endswith("; commands run with all your rights")


def test_require_refuses_and_says_what_to_install() -> None:
    with pytest.raises(ConfigError) as caught:
        find_sandbox("require", **NOT_TO_BE_HAD)  # type: ignore[arg-type]
    assert "Install bubblewrap" in caught.value.message
    assert "\n" not in caught.value.message


def test_an_unknown_mode_is_refused(places: Places) -> None:
    with pytest.raises(ConfigError, match="auto, require, off"):
        find_sandbox("on", workspace=places.ws)


def fake_bwrap(folder: Path, words: str) -> str:
    folder.mkdir(parents=True)
    (folder / "bwrap").write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    (folder / "bwrap").chmod(0o755)
    return str(folder)


def test_refused_namespaces_are_told(places: Places) -> None:
    folder = fake_bwrap(places.out / "bin", "bwrap: setting up uid map: Permission denied")
    environ = {"PATH": f"{folder}:/usr/bin:/bin"}
    sandbox = find_sandbox("auto", workspace=places.ws, environ=environ)
    assert sandbox.name != "bubblewrap"
    assert "bwrap: setting up uid map: Permission denied" in sandbox.about()


def test_a_bwrap_that_commands_could_have_written_is_passed_over(places: Places) -> None:
    planted = fake_bwrap(places.ws / "bin", "planted")
    linked = places.out / "bin"
    linked.symlink_to(planted)
    for path in (planted, linked, "bin", ""):
        environ = {"PATH": f"{path}:{os.environ['PATH']}"}
        sandbox = find_sandbox("auto", workspace=places.ws, environ=environ)
        assert "planted" not in sandbox.about()


def test_a_checkup_tells_of_both(places: Places) -> None:
    names = [what for what, _, _ in sandbox_findings(places.ws, {"PATH": NO_PROGRAMS})]
    assert names == ["bubblewrap", "landlock"]
    what, found, fine = sandbox_findings(places.ws, {"PATH": NO_PROGRAMS})[0]
    assert (what, found, fine) == ("bubblewrap", "bubblewrap (bwrap) is not installed", False)
