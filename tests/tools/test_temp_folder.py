"""A session's own folder: one of them, however many ask, and gone in the end."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

from claw.tools.temp_folder import TempFolder
from claw.tools.whole_output import OutputFolder


def test_it_is_made_when_needed_private_and_gone_in_the_end() -> None:
    told: list[tuple[str, Path]] = []
    folder = TempFolder("x", lambda p: told.append(("made", p)), lambda p: told.append(("gone", p)))
    folder.close()
    assert (folder.made, told) == (None, [])
    path = folder.path()
    (path / "file").touch()
    assert path == folder.path() == folder.made
    assert path.name.startswith("claw-x-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    folder.close()
    folder.close()
    assert told == [("made", path), ("gone", path)]
    assert not path.exists()


def test_outputs_may_be_opened_by_many_threads_at_once() -> None:
    made: list[Path] = []
    folder, start = OutputFolder(TempFolder("output", made.append)), threading.Barrier(8)
    opened: list[Path] = []

    def run() -> None:
        start.wait()
        for _ in range(20):
            output = folder.new_output()
            output.close()
            opened.append(output.path)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder.close()
    assert len(made) == 1
    assert len(set(opened)) == 160
