"""claw's own files: written for the user's eyes only, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claw.cli.places import open_plain, write_private
from claw.errors import ConfigError


def test_a_private_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    file = tmp_path / "new" / "trust.json"
    write_private(file, "one")
    before = file.stat()
    with file.open() as reader:
        write_private(file, "two")
        assert reader.read() == "one"
    assert file.read_text() == "two"
    assert file.stat().st_ino != before.st_ino
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """Also one where a draft with a name that can be guessed would be."""
    victim, file = tmp_path / "victim", tmp_path / "state" / "trust.json"
    victim.write_text("mine")
    file.parent.mkdir()
    file.symlink_to(victim)
    (file.parent / f".trust.json.{os.getpid()}").symlink_to(victim)
    write_private(file, "answers")
    assert victim.read_text() == "mine"
    assert (file.read_text(), file.is_symlink()) == ("answers", False)


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't be used for claw's own files"):
        write_private(tmp_path / "file" / "trust.json", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="folder can't be written: "):
        write_private(tmp_path / "folder", "x")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


def test_a_plain_file_is_opened_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with open_plain(tmp_path / "file") as stream:
        assert stream.read() == b"x"
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "."):
        with pytest.raises(OSError, match="it is no plain file"):
            open_plain(tmp_path / name)
