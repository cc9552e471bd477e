"""LlamaServer: llama.cpp's server as a child process, from its start to its end.

It can't outlive claw: `close` kills it on every way out that Python sees, and on those that it
doesn't see (a crash, KILL) the child ends because its standard input does; see llama_program.py.
It has a session of its own, so a Ctrl-C at the terminal is claw's alone.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

from claw.cancel import CancelToken
from claw.channel import Channel
from claw.errors import ClawError, ConfigError
from claw.local.llama_program import NOT_INSTALLED
from claw.providers.server_errors import one_line

PROGRAM = Path(__file__).with_name("llama_program.py")
TICK_S = 1.0
ENDING_S = 5.0  # for a child that has closed its standard output
LAST_LINES = 6
LONGEST_LINE = 2000
ADVICE = "claw local needs llama.cpp's server: pip install 'claw-engine[local]'"


class LlamaServer:
    """One model file on a free port of loopback. Close it when the work is done.

    name: how the server calls the model. context: tokens, at most those the model was made for.
    template: a file in place of the model's own chat template. program: what is run with this
    Python; it gets these options, reads the key from its standard input, prints its address once
    it is ready, and ends when standard input does.

    key: made anew, so that nobody else on this machine and no web page can ask the model.
    """

    def __init__(
        self,
        model: Path,
        *,
        name: str,
        context: int,
        template: Path | None = None,
        program: Path = PROGRAM,
    ) -> None:
        command = [sys.executable, "-P", str(program), str(model)]
        command += ["--alias", name, "--context", str(context)]
        if template is not None:
            command += ["--chat-template", str(template)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self.key = secrets.token_urlsafe()
        self._say(self.key)
        self._last_lines: deque[bytes] = deque(maxlen=LAST_LINES)
        self._threads: list[Thread] = []
        self._start(self._keep_log, "claw-llama-log")

    def wait_ready(self, cancel: CancelToken, waiting: Callable[[float], object]) -> str:
        """The base URL, once the model is loaded; `waiting` gets the seconds so far, each second.

        Raises Cancelled as soon as `cancel` fires, ConfigError where llama.cpp isn't installed,
        ClawError with the last lines of its log where it doesn't start.
        """
        addresses: Channel[bytes] = Channel(1, cancel)
        self._start(lambda: self._read_address(addresses), "claw-llama-address")
        start = time.monotonic()
        while True:
            waiting(time.monotonic() - start)
            if found := addresses.recv_many(TICK_S):
                return f"{found[0].decode().strip()}/v1"
            if addresses.closed:
                raise self._failure()

    @property
    def last_words(self) -> str | None:
        """How the server ended, if it did so by itself; None while it runs."""
        code = self._process.poll()
        return None if code is None else f"llama.cpp ended by itself ({code}). {self._log()}"

    def kill(self) -> None:
        """From any thread; doesn't block."""
        self._process.kill()

    def close(self) -> None:
        """Kills the child, and returns when nothing is left of it."""
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):  # a key that nobody read
                stream.close()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already: wait_ready says why
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _start(self, target: Callable[[], None], name: str) -> None:
        thread = Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _read_address(self, addresses: Channel[bytes]) -> None:
        assert self._process.stdout is not None
        if line := self._process.stdout.readline(LONGEST_LINE):
            addresses.send(line)
        addresses.close()

    def _keep_log(self) -> None:
        """Reads all of the log, so that the server never waits for a reader, and keeps its end."""
        assert self._process.stderr is not None
        while line := self._process.stderr.readline(LONGEST_LINE):
            self._last_lines.append(line)

    def _failure(self) -> ClawError:
        try:
            code = self._process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            return ClawError(f"llama.cpp gave no address. {self._log()}")
        if code == NOT_INSTALLED:
            return ConfigError(ADVICE)
        self._threads[0].join(ENDING_S)
        return ClawError(f"llama.cpp didn't start (exit code {code}). {self._log()}")

    def _log(self) -> str:
        lines = [one_line(line.decode("utf-8", "replace")) for line in self._last_lines]
        return "\n    ".join(["Its last lines:", *lines]) if lines else "It said nothing."
