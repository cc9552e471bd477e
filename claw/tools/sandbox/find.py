"""find_sandbox: the best sandbox there is here, or in words why there is none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from claw.errors import ConfigError
from claw.modes import SANDBOX_MODES
from claw.tools.sandbox.base import Bounds, NoSandbox, Refusal, Sandbox
from claw.tools.sandbox.bubblewrap import find_bubblewrap
from claw.tools.sandbox.landlock import find_landlock


def find_sandbox(
    mode: str,
    *,
    workspace: Path,
    add_dirs: Iterable[Path] = (),
    net: bool = False,
    own_folders: Iterable[Path] = (),
    environ: Mapping[str, str] | None = None,
) -> Sandbox:
    """bubblewrap, else Landlock, else none, each tried once (20 ms).

    mode: "auto", "require" (ConfigError where there is none, and no command may leave it) or
    "off". workspace, add_dirs: where commands may write. net: they may use the network.
    own_folders: settings and state of the host program, read-only for commands. environ: where
    programs and HOME are found, by default ours.
    """
    if mode not in SANDBOX_MODES:
        raise ConfigError(f'the sandbox is "{mode}"; it can be {", ".join(SANDBOX_MODES)}')
    if mode == "off":
        return NoSandbox()
    environ = os.environ if environ is None else environ
    may_leave = mode != "require"
    bounds = Bounds.of(workspace, add_dirs, own_folders, environ, net=net, may_leave=may_leave)
    best = find_bubblewrap(bounds, environ)
    if isinstance(best, Sandbox):
        return best
    second = find_landlock(bounds, environ, instead=best.words)
    if isinstance(second, Sandbox):
        return second
    reasons = f"{best.words}; {second.words}"
    if mode == "require":
        raise ConfigError(
            f"there is no sandbox, and one is required: {reasons}. "
            "Install bubblewrap (the package of that name), or use --sandbox auto"
        )
    return NoSandbox(f"no sandbox: {reasons}; commands run with all your rights")


def sandbox_findings(workspace: Path, environ: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    """For a check-up: what was looked at, what was found in words, and whether it is as it should
    be. Tries both ways, whichever would be used."""
    bounds = Bounds.of(workspace, (), (), environ, net=False)
    tried = {
        "bubblewrap": find_bubblewrap(bounds, environ),
        "landlock": find_landlock(bounds, environ),
    }
    return [
        (name, found.words, False) if isinstance(found, Refusal) else (name, found.about(), True)
        for name, found in tried.items()
    ]
