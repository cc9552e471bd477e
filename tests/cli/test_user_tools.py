"""The user's own tools in `claw run`: whatever their code does, the answer stays the answer."""

from __future__ import annotations

import json
import os

import pytest

from tests.support.command import Shell
from tests.support.server import Server, Turn, model, reply, serve

KEY = "sk-very-secret-0123456789"
NOISY = """
import os, sys

print("at the import")
sys.stdout.write("no line end ")
os.system("echo from a program")

def noisy() -> str:
    'Prints.'
    print("in the tool")
    sys.__stdout__.write("by the other name\\n")
    os.write(1, b"by the number\\n")
    os.system("echo from its program")
    return "done"
"""
SOUNDS = (
    "at the import",
    "no line end",
    "from a program",
    "in the tool",
    "by the other name",
    "by the number",
    "from its program",
)


def written(shell: Shell, code: str, name: str) -> dict[str, str]:
    """Puts a module `mine` where claw imports it from, and `mine:NAME` into the settings."""
    (shell.home / "mine.py").write_text(code)
    shell.config.write_text(f'tools = ["mine:{name}"]\n')
    return {"PYTHONPATH": os.pathsep.join([str(shell.home), shell.package])}


def asking(server: Server) -> dict[str, str]:
    return {"CLAW_BASE_URL": server.url, "CLAW_MODEL": "m"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("class Odd(BaseException): pass\nraise Odd('two\\nlines')", "Odd: two lines"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_whatever_its_import_does_is_one_line(shell: Shell, code: str, words: str) -> None:
    given = written(shell, code, "f")
    arguments = ("run", "Hi", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    done = shell.claw(*arguments, "--output", "json", **given)
    assert done.code == 2, done
    assert done.envelope["error"]["kind"] == "config"
    assert done.err.startswith('claw: tools: "mine:f" can\'t be used: ')
    assert words in done.err
    assert done.err.count("\n") == 1


def test_a_keyboard_interrupt_is_no_fault_of_the_tool(shell: Shell) -> None:
    given = written(shell, "raise KeyboardInterrupt", "f")
    arguments = ("run", "Hi", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    done = shell.claw(*arguments, "--output", "json", **given)
    assert (done.code, done.envelope["status"]) == (130, "cancelled")


@pytest.mark.parametrize(
    ("code", "name", "kind"),
    [
        ("import os", "os:environ", "_Environ"),
        (f"from functools import partial\nf = partial(print, {KEY!r})", "mine:f", "partial"),
        (f"f = {KEY!r}", "mine:f", "str"),
    ],
)
def test_what_is_no_tool_is_told_by_its_type_alone(
    shell: Shell, code: str, name: str, kind: str
) -> None:
    given = written(shell, code, "f")
    shell.config.write_text(f'tools = ["{name}"]\n')
    arguments = ("run", "Hi", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    done = shell.claw(*arguments, "--output", "json", OPENAI_API_KEY=KEY, **given)
    assert (done.code, done.err.count("\n")) == (2, 1), done
    assert kind in done.err
    assert KEY not in done.out + done.err


@pytest.mark.parametrize("mode", ["text", "json", "jsonl"])
def test_what_it_prints_is_not_in_the_answer(shell: Shell, mode: str) -> None:
    given = written(shell, NOISY, "noisy")
    with serve(model(Turn(calls=(("c", "noisy", {}),)), "All done")) as server:
        done = shell.claw(
            "run", "Go", "--output", mode, "--approve", "all", **asking(server), **given
        )
    assert done.code == 0, done
    for sound in SOUNDS:
        assert sound in done.err
    if mode == "text":
        assert done.out == "All done\n"
    elif mode == "json":
        assert done.envelope["text"] == "All done"
    else:
        assert done.events[-1]["status"] == "completed"


def test_what_it_prints_disturbs_no_error_either(shell: Shell) -> None:
    given = written(shell, "print('hello')\nimport missing_module", "f")
    with serve(reply("never asked")) as server:
        done = shell.claw("run", "Go", "--output", "json", **asking(server), **given)
    assert done.code == 2
    assert json.loads(done.out)["error"]["kind"] == "config"
    assert "hello\n" in done.err
