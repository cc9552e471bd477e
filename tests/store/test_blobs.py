"""Contents beside a session: what is kept comes back as it was, or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from claw.store import BlobFolder


def test_contents_come_back_and_the_same_is_kept_once(tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "sessions" / "x.blobs")
    contents = [b"", b"text\n", bytes(range(256)) * 1000]
    keys = [blobs.put(content) for content in contents]
    assert [blobs.get(key) for key in keys] == contents
    assert blobs.put(contents[1]) == keys[1]
    files = list(blobs.folder.iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(blobs.folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("key", ["", "../x", "a" * 64, "A" * 64])
def test_a_key_that_was_never_given_is_refused(key: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        BlobFolder(tmp_path).get(key)


def test_a_damaged_content_is_not_given_back(tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "blobs")
    key = blobs.put(b"content")
    (blobs.folder / key).write_bytes(b"other")
    with pytest.raises(OSError, match="damaged"):
        blobs.get(key)


def test_removing_takes_all_and_can_be_done_twice(tmp_path: Path) -> None:
    blobs = BlobFolder(tmp_path / "blobs")
    blobs.put(b"content")
    blobs.remove()
    blobs.remove()
    assert not blobs.folder.exists()
