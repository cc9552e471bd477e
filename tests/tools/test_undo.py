"""Undo: the files of a turn as they were, byte by byte, and nothing of anybody else's."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.tools.undo import UndoLog, undo_in
from tests.support.toolbox import Toolbox


@pytest.fixture
def log(box: Toolbox) -> UndoLog:
    return undo_in(box.session.state("files"))


def edit(old: str, new: str) -> list[dict[str, Any]]:
    return [{"old_text": old, "new_text": new}]


def tree(root: Path) -> dict[str, tuple[int, bytes | None]]:
    """Everything below a folder: mode and content."""
    return {
        str(path.relative_to(root)): (
            stat.S_IMODE(path.lstat().st_mode),
            path.read_bytes() if path.is_file() else None,
        )
        for path in root.rglob("*")
    }


def test_a_turn_s_files_are_as_before(box: Toolbox, log: UndoLog) -> None:
    (box.root / "a.sh").write_bytes(b"\xef\xbb\xbfone\r\ncaf\xe9\n")
    (box.root / "a.sh").chmod(0o754)
    (box.root / "b").write_text("b\n")
    before = tree(box.root)
    log.new_turn()
    box.text("edit_file", path="a.sh", edits=edit("one", "two"))
    box.text("edit_file", path="a.sh", edits=edit("two", "three"))
    box.text("write_file", path="b", content="x")
    box.text("write_file", path="new/deep/c", content="c")
    box.text("write_file", path="new/d", content="d")
    assert log.undo_turn() == [
        "removed new/d, which was new",
        "removed new/deep/c, which was new",
        "restored b",
        "restored a.sh",
    ]
    assert tree(box.root) == before
    assert log.undo_turn() == ["nothing to undo: no file was written"]


def test_a_second_undo_goes_one_turn_further(box: Toolbox, log: UndoLog) -> None:
    (box.root / "a").write_text("0")
    for number in "123":
        log.new_turn()
        box.text("write_file", path="a", content=number)
        log.new_turn()  # a turn that wrote nothing
    seen = []
    for _ in range(3):
        assert log.undo_turn() == ["restored a"]
        seen.append((box.root / "a").read_text())
    assert seen == ["2", "1", "0"]


def test_after_an_undo_new_turns_are_undone_as_ever(box: Toolbox, log: UndoLog) -> None:
    box.text("write_file", path="a", content="1")
    log.undo_turn()
    box.text("write_file", path="a", content="2")
    assert log.undo_turn() == ["removed a, which was new"]


def test_a_file_that_was_deleted_since_comes_back(box: Toolbox, log: UndoLog) -> None:
    (box.root / "d").mkdir()
    (box.root / "d/a").write_text("old")
    (box.root / "d/a").chmod(0o640)
    box.text("write_file", path="d/a", content="new")
    (box.root / "d/a").unlink()
    (box.root / "d").rmdir()
    assert log.undo_turn() == ["restored d/a, which had been deleted"]
    assert (box.root / "d/a").read_text() == "old"
    assert stat.S_IMODE((box.root / "d/a").stat().st_mode) == 0o640


def test_a_new_file_that_is_gone_is_no_problem(box: Toolbox, log: UndoLog) -> None:
    box.text("write_file", path="x/a", content="new")
    (box.root / "x/a").unlink()
    assert log.undo_turn() == ["x/a is gone already"]
    assert not (box.root / "x").exists()


def test_what_somebody_else_changed_is_left_alone_and_told(box: Toolbox, log: UndoLog) -> None:
    (box.root / "a").write_text("old")
    box.text("write_file", path="a", content="new")
    box.text("write_file", path="b", content="new")
    (box.root / "a").write_text("mine")
    (box.root / "b").write_text("mine too")
    assert log.undo_turn() == [
        "left b alone: it has been changed since, not by these tools",
        "left a alone: it has been changed since, not by these tools",
    ]
    assert (box.root / "a").read_text() == "mine"
    assert (box.root / "b").read_text() == "mine too"
    assert log.undo_turn() == ["nothing to undo: no file was written"]


def test_what_somebody_else_put_back_already_is_told(box: Toolbox, log: UndoLog) -> None:
    (box.root / "a").write_text("old")
    box.text("write_file", path="a", content="new")
    (box.root / "a").write_text("old")
    assert log.undo_turn() == ["a is as it was already"]


def test_a_folder_with_something_else_in_it_stays(box: Toolbox, log: UndoLog) -> None:
    box.text("write_file", path="x/y/a", content="new")
    (box.root / "x/mine").touch()
    log.undo_turn()
    assert tree(box.root).keys() == {"x", "x/mine"}


def test_a_file_that_became_a_folder_blocks_nothing(box: Toolbox, log: UndoLog) -> None:
    (box.root / "b").write_text("old")
    box.text("write_file", path="b", content="first turn")
    log.new_turn()
    box.text("write_file", path="a", content="new")
    (box.root / "a").unlink()
    (box.root / "a").mkdir()
    for more in ("; undo it once more to try again", ""):
        (words,) = log.undo_turn()
        assert words.startswith("not restored: a is a folder, not a file")
        assert words.endswith(f"what is in it{more}")
    assert log.undo_turn() == ["restored b"]


def test_a_path_that_leads_elsewhere_now_is_not_followed(
    box: Toolbox, log: UndoLog, tmp_path: Path
) -> None:
    (box.root / "d").mkdir()
    (box.root / "d/a").write_text("old")
    box.text("write_file", path="d/a", content="new")
    (box.root / "d").rename(tmp_path / "moved")
    (box.root / "d").symlink_to(tmp_path / "moved")
    (words,) = log.undo_turn()
    assert "is a link" in words
    assert (tmp_path / "moved/a").read_text() == "new"


def test_the_model_has_to_read_again_what_was_undone(box: Toolbox, log: UndoLog) -> None:
    (box.root / "a").write_text("old\n")
    box.text("read_file", path="a")
    box.text("edit_file", path="a", edits=edit("old", "new"))
    log.undo_turn()
    assert "changed since you last read it" in box.refusal(
        "edit_file", path="a", edits=edit("old", "new")
    )
    box.text("read_file", path="a")
    box.text("edit_file", path="a", edits=edit("old", "new"))


def test_a_call_that_failed_is_no_change(box: Toolbox, log: UndoLog) -> None:
    (box.root / "a").write_text("old\n")
    box.refusal("edit_file", path="a", edits=edit("zz", "new"))
    box.refusal("write_file", path="a/b", content="x")
    assert log.undo_turn() == ["nothing to undo: no file was written"]


def test_large_contents_lie_in_a_private_folder_that_goes_with_the_session(
    box: Toolbox, log: UndoLog
) -> None:
    old = os.urandom(3_000_000)
    (box.root / "a").write_bytes(old)
    box.text("write_file", path="a", content="new")
    (folder,) = Path(tempfile.gettempdir()).glob("claw-undo-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600]
    assert log.undo_turn() == ["restored a"]
    assert (box.root / "a").read_bytes() == old
    assert list(folder.iterdir()) == []
    box.close()
    assert not folder.exists()


def test_kept_contents_that_were_tampered_with_are_not_restored(box: Toolbox, log: UndoLog) -> None:
    (box.root / "a").write_bytes(b"x" * 100_000)
    box.text("write_file", path="a", content="new")
    (folder,) = Path(tempfile.gettempdir()).glob("claw-undo-*")
    next(folder.iterdir()).write_bytes(b"y" * 100_000)
    assert "has been changed" in log.undo_turn()[0]
    assert (box.root / "a").read_text() == "new"


def test_what_is_kept_is_bounded_and_the_bound_is_told(box: Toolbox) -> None:
    log = box.session.state("files")["undo"] = UndoLog(most_kept=1_000_000)
    for number in range(12):
        (box.root / f"{number}").write_bytes(b"x" * 90_000)
        log.new_turn()
        box.text("write_file", path=f"{number}", content="new")
    (folder,) = Path(tempfile.gettempdir()).glob("claw-undo-*")
    assert len(list(folder.iterdir())) == 11
    for number in range(11, 0, -1):
        assert log.undo_turn() == [f"restored {number}"]
    assert log.undo_turn() == ["no earlier turn can be undone: 1,000,000 bytes are kept in all"]


def test_one_turn_may_be_too_large_to_keep(box: Toolbox) -> None:
    log = box.session.state("files")["undo"] = UndoLog(most_kept=1_000)
    for name in "ab":
        (box.root / name).write_bytes(b"x" * 900)
        box.text("write_file", path=name, content="new")
    assert log.undo_turn() == [
        "left b alone: its earlier content could not be kept",
        "restored a",
    ]


def test_git_is_neither_asked_nor_touched(box: Toolbox, log: UndoLog) -> None:
    (box.root / "a").write_text("old\n")
    (box.root / ".git").mkdir()
    (box.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (box.root / ".git/index").write_bytes(b"\0")
    before = tree(box.root)
    box.text("edit_file", path="a", edits=edit("old", "new"))
    log.undo_turn()
    assert tree(box.root) == before


# Each of these syncs dozens of files: fewer of them in a short run.
EXAMPLES = settings().max_examples if os.environ.get("CLAW_STRESS") else 60
names = st.sampled_from(["a", "b", "d/a", "d/e/a"])
contents = st.sampled_from(["", "one", "two\r\n", "x" * 70_000])
steps = st.lists(st.one_of(st.just(None), st.tuples(names, contents)), max_size=12)


@settings(max_examples=EXAMPLES)
@given(st.dictionaries(names, contents), steps)
def test_undoing_all_turns_gives_the_first_state(
    start: dict[str, str], steps: list[tuple[str, str] | None]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        box = Toolbox(Path(folder))
        for name, content in start.items():
            (box.root / name).parent.mkdir(parents=True, exist_ok=True)
            (box.root / name).write_text(content, newline="")
        states, log = [tree(box.root)], undo_in(box.session.state("files"))
        for step in steps:
            if step is None:
                log.new_turn()
                states.append(tree(box.root))
            else:
                box.text("write_file", path=step[0], content=step[1])
        while not log.undo_turn()[0].startswith("nothing"):
            assert tree(box.root) in states
        assert tree(box.root) == states[0]
        box.close()
