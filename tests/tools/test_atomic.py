"""replace_file: what it keeps and what it refuses. That it fails well: test_torture.py."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from claw.tools.atomic import replace_file, status_of


def replaced(target: Path, data: bytes, mode: int | None = None) -> None:
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        replace_file(folder, target.name, data, status_of(folder, target.name), mode)
    finally:
        os.close(folder)


def test_the_owner_stays_where_that_is_allowed(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    if os.geteuid() == 0:
        os.chown(target, 12345, 23456)
    before = target.stat()
    target.chmod(0o4755)
    replaced(target, b"new")
    after = target.stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert stat.S_IMODE(after.st_mode) == 0o4755
    assert target.read_bytes() == b"new"


def test_a_very_long_name_still_has_room_for_its_temporary_file(tmp_path: Path) -> None:
    for name in ("x" * 255, "€" * 85):
        replaced(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"


def test_a_read_only_file_is_not_replaced_behind_its_back(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o444)
    tmp_path.chmod(0o777)
    folder, before = os.open(tmp_path, os.O_RDONLY), os.lstat(tmp_path / "a")
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            replace_file(folder, "a", b"new", before)
            os._exit(0)
        except PermissionError:
            os._exit(13)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 13
    os.close(folder)
    assert (tmp_path / "a").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_who_can_t_give_a_file_away_doesn_t_lend_his_rights_either(tmp_path: Path) -> None:
    """A program that runs with its owner's rights must not run with those of whoever edited it."""
    target, is_root = tmp_path / "a", os.geteuid() == 0
    target.write_text("old")
    if is_root:
        os.chown(target, 12345, 23456)
        tmp_path.chmod(0o777)
    target.chmod(0o6777)
    folder, before = os.open(tmp_path, os.O_RDONLY), os.lstat(target)
    child = os.fork()
    if child == 0:
        try:
            if is_root:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            replace_file(folder, "a", b"new", before)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    os.close(folder)
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == (0o777 if is_root else 0o6777)


def test_a_given_mode_is_the_mode(tmp_path: Path) -> None:
    replaced(tmp_path / "a", b"new", mode=0o640)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    replaced(tmp_path / "a", b"newer", mode=0o755)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o755


@pytest.mark.parametrize("change", ["write", "replace", "remove", "link"])
def test_a_file_that_changes_under_our_hands_is_left_alone(tmp_path: Path, change: str) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    before = os.lstat(target)
    if change == "write":
        target.write_text("other")
    else:
        target.unlink()
    if change == "replace":
        target.write_text("old")
    if change == "link":
        target.symlink_to("b")
    folder = os.open(tmp_path, os.O_RDONLY)
    left = sorted(tmp_path.iterdir())
    with pytest.raises(OSError, match="changed by somebody else"):
        replace_file(folder, "a", b"new", before)
    os.close(folder)
    assert sorted(tmp_path.iterdir()) == left


def test_a_file_that_appears_under_our_hands_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("theirs")
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(OSError, match="changed by somebody else"):
        replace_file(folder, "a", b"new", None)
    os.close(folder)
    assert (tmp_path / "a").read_text() == "theirs"
