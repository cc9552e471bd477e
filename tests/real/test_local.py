"""`claw local` with the real llama.cpp and SmolLM2, in a real terminal."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from claw import CancelToken
from claw.errors import AuthError, ClawError
from claw.events import Completed, Failed
from claw.local.llama_server import PROGRAM, LlamaServer
from claw.messages import Message
from claw.providers import ModelRequest, OpenAIChat
from tests.real.llama_server import missing, weights
from tests.support.command import Shell
from tests.support.processes import gone_within
from tests.support.pty import Terminal

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())}"),
]

PATIENCE_S = 180.0  # two busy cores can bring the model below one token a second
GONE_S = 1.0  # measured: 0.03


def wait_long_for(terminal: Terminal, pattern: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with suppress(AssertionError):  # after the patience that a terminal has for claw itself
            terminal.wait_for(pattern)
            return
    terminal.wait_for(pattern)


def test_a_turn_with_a_real_model_and_nothing_is_left(shell: Shell) -> None:
    (shell.home / "trust.json").write_text(json.dumps({str(shell.folder.resolve()): True}))
    argv = shell.command("local", str(weights()), "--max-output-tokens", "16", "-C", ".")
    with Terminal.running(argv, cwd=shell.folder, env=shell.environ(TERM="xterm")) as terminal:
        wait_long_for(terminal, r"^claw>$")
        terminal.type("Say hello.\r")
        wait_long_for(terminal, r"^\[1 step, .*\]$")
        terminal.wait_for(r"^claw>$")
        terminal.type("\x04")
        assert terminal.wait_exit() == 0
        assert gone_within(GONE_S, f"-P {PROGRAM} {weights()}")


def test_a_file_that_llama_cpp_cannot_read_is_told_in_its_own_words(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF\3\0\0\0" + b"\xff" * 100)
    with closing(LlamaServer(file, name="broken", context=512)) as server:
        with pytest.raises(ClawError, match=r"didn't start \(exit code 1\)") as caught:
            server.wait_ready(CancelToken(timeout=PATIENCE_S), lambda seconds: None)
        assert "failed to load model" in caught.value.message


def test_only_who_has_the_key_may_ask() -> None:
    with closing(LlamaServer(weights(), name="m", context=512)) as server:
        base_url = server.wait_ready(CancelToken(timeout=PATIENCE_S), lambda seconds: None)
        for key, outcome in ((server.key, Completed), ("another-key", Failed), (None, Failed)):
            request = ModelRequest([Message.user("Hi")], max_tokens=4)
            with closing(OpenAIChat("m", base_url=base_url, api_key=key)) as provider:
                *_, last = provider.stream(request, CancelToken(timeout=PATIENCE_S))
            assert isinstance(last, outcome), last
            if isinstance(last, Failed):
                assert isinstance(last.error, AuthError)


@pytest.mark.parametrize("instant", [0.0, 0.2, 0.4, 2.0])
def test_the_program_ends_with_its_input_also_while_it_loads(instant: float) -> None:
    command = [sys.executable, "-P", str(PROGRAM), str(weights()), "--alias", "m"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*command, "--context", "8192"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as program:
        try:
            assert program.stdin is not None
            program.stdin.write(b"a-key\n")
            program.stdin.flush()
            threading.Event().wait(instant)
            program.stdin.close()
            program.wait(GONE_S)
        finally:
            program.kill()
