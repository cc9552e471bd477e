"""Tries a sandbox once, by a command that does next to nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from claw.cancel import CancelToken
from claw.tools.process import run_process
from claw.values import frozen

PROBE_S = 5.0  # it takes 20 ms; a machine on its knees shall not lose its sandbox


@frozen
class Trial:
    """What a program wrote, and why it didn't work (None if it did)."""

    said: str
    refusal: str | None


def try_out(argv: Sequence[str], environ: Mapping[str, str]) -> Trial:
    """Runs `argv` to its end. The reason of a refusal is the last line it wrote."""
    pieces: list[bytes] = []
    env = {"PATH": environ.get("PATH", "")}
    try:
        result = run_process(
            argv,
            cwd=Path("/"),
            env=env,
            cancel=CancelToken(),
            timeout=PROBE_S,
            on_output=pieces.append,
        )
    except OSError as error:
        return Trial("", f"{argv[0]}: {error.strerror}")
    said = b"".join(pieces).decode("utf-8", "replace").strip()
    if result.exit_code == 0:
        return Trial(said, None)
    return Trial(said, said.rpartition("\n")[2] or f"{argv[0]} failed ({result.exit_code})")
