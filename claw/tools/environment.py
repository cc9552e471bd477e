"""What the programs that claw starts find in their environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

# They name files to run, or change what a command line means; one may name a file in the workspace.
LEFT_OUT = (
    "BASH_ENV",
    "ENV",
    "CDPATH",
    "GLOBIGNORE",
    "SHELLOPTS",
    "BASHOPTS",
    "GREP_OPTIONS",
    "LESSOPEN",
    "LESSCLOSE",
    "RIPGREP_CONFIG_PATH",
)
FUNCTION = "BASH_FUNC_"  # an exported function, in place of the program of that name


def plain_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without what would run by itself. PATH keeps its absolute folders: others mean the
    folder that a command happens to be in."""
    plain = {
        name: value
        for name, value in env.items()
        if name not in LEFT_OUT and not name.startswith(FUNCTION)
    }
    if "PATH" in plain:
        folders = plain["PATH"].split(os.pathsep)
        plain["PATH"] = os.pathsep.join(filter(os.path.isabs, folders))
    return plain
