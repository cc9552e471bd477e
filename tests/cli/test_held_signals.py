"""A signal while a command still imports its parts: its exit code, its envelope, no traceback.

The child is told, by the name of a module, at which import to send itself a signal.
"""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.support.command import Finished, Shell

AT_AN_IMPORT = """
import os, sys
from importlib.abc import MetaPathFinder

class Sends(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == os.environ["AT_IMPORT"]:
            for _ in range(int(os.environ["TIMES"])):
                os.kill(os.getpid(), int(os.environ["SIGNAL"]))

if "AT_IMPORT" in os.environ:
    sys.meta_path.insert(0, Sends())
"""
RUN = ("run", "Hi", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
MODULES = ("claw.cli.failures", "claw.cli.settings", "claw.cli.run", "claw.engine", "claw.tools")


def interrupted(
    shell: Shell, module: str, *arguments: str, number: int = signal.SIGINT, times: int = 1
) -> Finished:
    (shell.home / "sitecustomize.py").write_text(AT_AN_IMPORT)
    done = shell.claw(
        *arguments,
        AT_IMPORT=module,
        SIGNAL=str(int(number)),
        TIMES=str(times),
        PYTHONPATH=os.pathsep.join([str(shell.home), shell.package]),
    )
    assert "Traceback" not in done.err
    assert "ignored" not in done.err
    return done


@pytest.mark.parametrize("module", MODULES)
def test_a_run_has_its_envelope_all_the_same(shell: Shell, module: str) -> None:
    done = interrupted(shell, module, *RUN, "--output", "json")
    assert (done.code, done.envelope["status"]) == (130, "cancelled"), done
    assert done.err == "claw: interrupted\n"


def test_so_have_json_lines(shell: Shell) -> None:
    done = interrupted(shell, "claw.cli.run", *RUN, "--output", "jsonl")
    assert (done.code, done.events[-1]["status"]) == (130, "cancelled")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_other_signals_are_told_by_the_exit_code(
    shell: Shell, number: signal.Signals, code: int
) -> None:
    done = interrupted(shell, "claw.cli.run", *RUN, "--output", "json", number=number)
    assert (done.code, done.envelope["status"]) == (code, "cancelled")


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("claw.cli.conversation", ()),
        ("claw.cli.show_config", ("config", "show")),
        ("claw.cli.show_config", ("config", "path")),
        ("claw.cli.demo", ("demo",)),
        ("claw.cli.checkup", ("doctor",)),
        ("ctypes", ("config", "path")),
    ],
)
def test_every_command_ends_with_130(shell: Shell, module: str, arguments: tuple[str, ...]) -> None:
    done = interrupted(shell, module, *arguments)
    assert done.code == 130, done


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("claw.cli.models", ("models", "--json", "--base-url", "http://127.0.0.1:9/v1")),
        ("claw.cli.doctor", ("doctor", "--json", "http://127.0.0.1:9/v1")),
        ("claw.cli.checkup", ("doctor", "--json")),
    ],
)
def test_one_object_tells_it_as_well(shell: Shell, module: str, arguments: tuple[str, ...]) -> None:
    done = interrupted(shell, module, *arguments)
    assert (done.code, json.loads(done.out)["status"]) == (130, "cancelled"), done


def test_the_second_one_waits_for_nothing(shell: Shell) -> None:
    done = interrupted(shell, "claw.cli.run", *RUN, times=2)
    assert (done.code, done.out) == (130, "")
