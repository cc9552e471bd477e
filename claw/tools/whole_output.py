"""The whole of a long output, in a file that the reading tools may read."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Any

from claw.tools.open_flags import NEW_FILE
from claw.tools.state import kept_in
from claw.tools.temp_folder import TempFolder
from claw.tools.workspace import Workspace

WHOLE_BYTES = 100_000_000


class WholeOutput:
    """One file, WHOLE_BYTES at most. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._room = WHOLE_BYTES
        self._file = os.fdopen(os.open(path, NEW_FILE, 0o600), "wb")

    def write(self, data: bytes) -> None:
        """Never raises: a full disk is told in `problem`, the command goes on."""
        if self.problem:
            return
        try:
            self._file.write(data[: self._room])
            self._file.flush()  # a job's file is read while the job runs
        except OSError as error:
            self.problem = f"incomplete: {error.strerror}"
        self._room -= len(data)
        if self._room < 0:
            self.problem = self.problem or f"its first {WHOLE_BYTES:,} bytes"

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self.problem = f"incomplete: {error.strerror}"

    def __str__(self) -> str:
        return f"{self.path} ({self.problem})" if self.problem else str(self.path)


class OutputFolder:
    """A session's folder for whole outputs, gone with `close()`. Any thread may call."""

    def __init__(self, folder: TempFolder) -> None:
        self._folder = folder
        self._numbers = count(1)

    def new_output(self) -> WholeOutput:
        """Opens the next file. OSError when there is no place for one."""
        return WholeOutput(self._folder.path() / f"output-{next(self._numbers)}.txt")

    def close(self) -> None:
        self._folder.close()


def outputs_in(state: dict[str, Any], workspace: Workspace) -> OutputFolder:
    """The folder for whole outputs of a session, which the reading tools may read unasked."""

    def make() -> OutputFolder:
        return OutputFolder(TempFolder("output", workspace.lend, workspace.take_back))

    return kept_in(state, "outputs", OutputFolder, make)
