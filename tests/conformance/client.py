"""A client that is played against: a worker process that is started anew when it has hung."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
START_S = 60.0
NO_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


class Hung(Exception):
    """No answer in time; the worker was killed."""


class Client:
    """For one thread; a context manager. `about`: the worker's first line."""

    def __init__(self, adapter: str, python: str) -> None:
        self._command = [python, "-m", "tests.conformance.worker", adapter]
        self._process = self._start()
        self.about = self._read(START_S)

    def play(self, order: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The outcome of an order; Hung after `seconds`. A worker that died counts as a crash."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        try:
            return self._read(seconds)
        except (Hung, EOFError) as error:
            self._end()
            self._process = self._start()
            self._read(START_S)
            if isinstance(error, EOFError):
                return {"error": {"kind": "crash", "message": "the process died"}, "seconds": 0.0}
            raise

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *unused: object) -> None:
        self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        env = {name: value for name, value in os.environ.items() if name.lower() not in NO_PROXIES}
        return subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _read(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor, end, pieces = self._process.stdout.fileno(), time.monotonic() + seconds, []
        while not (pieces and pieces[-1].endswith(b"\n")):
            left = end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise Hung
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                raise EOFError
            pieces.append(piece)
        answer: dict[str, Any] = json.loads(b"".join(pieces))
        return answer

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue  # an order that nobody read
