"""replace_file: the old content or the new one, whichever step the system refuses."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from claw.tools.atomic import replace_file
from tests.support.toolbox import Toolbox


@pytest.mark.parametrize("step", ["open", "fchmod", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_step_that_fails_changes_nothing(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    (box.root / "a").write_text("old\n")
    real = getattr(os, step)

    def fail(path: Any, *rest: Any, **more: Any) -> Any:
        if step == "open" and not str(path).endswith(".tmp"):
            return real(path, *rest, **more)
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        words = box.refusal("edit_file", path="a", edits=[{"old_text": "old", "new_text": "new"}])
    assert words == f"can't write a: {os.strerror(number)}"
    assert (box.root / "a").read_text() == "old\n"
    assert [path.name for path in box.root.iterdir()] == ["a"]
    box.text("edit_file", path="a", edits=[{"old_text": "old", "new_text": "new"}])


def test_the_owner_stays_where_that_is_allowed(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    if os.geteuid() == 0:
        os.chown(target, 12345, 23456)
    before = target.stat()
    target.chmod(0o4755)
    replace_file(target, b"new")
    after = target.stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert stat.S_IMODE(after.st_mode) == 0o4755
    assert target.read_bytes() == b"new"


def test_a_very_long_name_still_has_room_for_its_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 250)
    replace_file(target, b"new")
    assert target.read_bytes() == b"new"
