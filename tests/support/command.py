"""Runs the real command in a process of its own, with an empty home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENVELOPE_KEYS = {
    "version",
    "status",
    "stop_reason",
    "text",
    "partial_text",
    "steps",
    "usage",
    "cost",
    "tool_calls",
    "session",
    "duration_s",
    "error",
}
STATUSES = {
    "completed",
    "truncated",
    "refused",
    "max_steps",
    "budget",
    "deadline",
    "loop",
    "needs_approval",
    "cancelled",
    "error",
}


@dataclass(frozen=True)
class Finished:
    """How a command ended, and all that it wrote."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        """The one envelope of `--output json`, checked for its keys and their kinds."""
        assert self.out.count("\n") == 1, self
        return checked_envelope(json.loads(self.out))

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of `--output jsonl`; the last one is the envelope."""
        events = [json.loads(line) for line in self.out.splitlines()]
        assert [e["type"] for e in events].count("run_finished") == 1, self
        assert events[-1]["type"] == "run_finished"
        checked_envelope(events[-1])
        return events


@dataclass(frozen=True)
class Shell:
    """A user: an empty home, a folder to work in, and an environment with nothing else in it."""

    home: Path
    folder: Path
    package: str = str(Path(__file__).parents[2])  # where `claw` is imported from

    @property
    def config(self) -> Path:
        return self.home / "config.toml"

    def environ(self, **variables: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "CLAW_HOME": str(self.home),
            "PYTHONPATH": self.package,
            **variables,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "claw", *arguments]

    def claw(
        self, *arguments: str, stdin: bytes | int = subprocess.DEVNULL, **variables: str
    ) -> Finished:
        """Runs `claw ARGUMENTS` to its end. stdin: bytes to pipe in, or a descriptor."""
        given: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environ(**variables),
            capture_output=True,
            timeout=30,
            check=False,
            **given,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    @contextmanager
    def started(
        self, *arguments: str, variables: Mapping[str, str] | None = None, **options: Any
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Starts `claw ARGUMENTS`; the process is gone when the block is left."""
        pipe = subprocess.PIPE
        options = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, **options}
        process = subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environ(**(variables or {})),
            **options,
        )
        with process:
            try:
                yield process
            finally:
                process.kill()


def finished(process: subprocess.Popen[bytes]) -> Finished:
    """Waits for the end of a started command."""
    out, err = process.communicate(timeout=20)
    return Finished(process.returncode, (out or b"").decode(), err.decode())


def checked_envelope(envelope: dict[str, Any]) -> dict[str, Any]:
    assert envelope.keys() >= ENVELOPE_KEYS
    assert envelope["version"] == 1
    assert envelope["status"] in STATUSES
    assert envelope["usage"].keys() == {
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "reasoning_tokens",
    }
    for call in envelope["tool_calls"]:
        assert call.keys() == {"id", "name", "arguments", "is_error"}
    if envelope["error"] is not None:
        assert envelope["error"].keys() >= {"kind", "message", "status", "retryable"}
    assert (envelope["error"] is not None) == (envelope["status"] == "error")
    return envelope
