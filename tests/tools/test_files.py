"""read_file and write_file: any file, any size, in words where it can't be."""

from __future__ import annotations

import io
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from claw.cancel import CancelToken
from claw.errors import Cancelled, ToolError
from claw.tools.page import read_page
from tests.support.toolbox import Toolbox


def test_lines_come_with_their_numbers(box: Toolbox) -> None:
    (box.root / "a.py").write_text("one\n\ttwo\n\nfour")
    assert (
        box.text("read_file", path="a.py") == "     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour"
    )


def test_a_range_says_where_it_stands(box: Toolbox) -> None:
    (box.root / "a").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    text = box.text("read_file", path="a", start_line=3, end_line=4)
    assert text == "     3\tline 3\n     4\tline 4\n[lines 3-4 of 10]"
    assert box.text("read_file", path="a", start_line=10).startswith("    10\tline 10")


def test_a_long_file_is_read_page_by_page(box: Toolbox) -> None:
    (box.root / "a").write_text("".join(f"{n}\n" for n in range(1, 5001)))
    text = box.text("read_file", path="a")
    assert text.endswith("  2000\t2000\n[lines 1-2000 of 5000; next: start_line=2001]")
    rest = box.text("read_file", path="a", start_line=4001)
    assert rest.endswith("  5000\t5000\n[lines 4001-5000 of 5000]")


def test_a_page_is_bounded_in_bytes_too(box: Toolbox) -> None:
    (box.root / "a").write_text(f"{'é' * 1000}\n" * 300)
    text = box.text("read_file", path="a")
    assert len(text.encode()) < 70_000
    assert "next: start_line=" in text


def test_a_long_line_is_cut_between_characters(box: Toolbox) -> None:
    (box.root / "a").write_text(f"x{'é' * 500_000}\nnext\n")
    text = box.text("read_file", path="a")
    assert "\ufffd" not in text
    assert "more bytes in this line]" in text
    assert text.splitlines()[1] == "     2\tnext"


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"a\r\nb\r\n", "[line ends are CRLF]"),
        (b"a\r\nb\n", "[line ends are mixed, CRLF and LF]"),
        (b"caf\xe9\n", "[bytes that aren't UTF-8 are shown as \ufffd; edit_file can't match them]"),
    ],
)
def test_what_numbered_lines_hide_is_noted(box: Toolbox, content: bytes, note: str) -> None:
    (box.root / "a").write_bytes(content)
    lines = box.text("read_file", path="a").split("\n")
    assert lines[-1] == note
    assert "\r" not in "".join(lines)


def test_a_byte_order_mark_is_not_shown(box: Toolbox) -> None:
    (box.root / "a").write_bytes(b"\xef\xbb\xbfone\n")
    assert box.text("read_file", path="a") == "     1\tone"


def test_an_empty_file(box: Toolbox) -> None:
    (box.root / "a").touch()
    assert box.text("read_file", path="a") == "(a is empty)"
    (box.root / "a").write_text("no longer")
    assert "changed since" in box.refusal("write_file", path="a", content="x")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"start_line": 0}, "start_line counts from 1"),
        ({"start_line": 3, "end_line": 2}, "end_line can't be before it"),
        ({"start_line": 9}, "has only 2 lines"),
    ],
)
def test_a_range_that_is_none(box: Toolbox, arguments: dict[str, int], words: str) -> None:
    (box.root / "a").write_text("1\n2\n")
    assert words in box.refusal("read_file", path="a", **arguments)


def test_binary_and_utf16_are_refused_with_advice(box: Toolbox) -> None:
    (box.root / "a.bin").write_bytes(b"\x7fELF\0\1\2\3")
    (box.root / "b.txt").write_text("hello", encoding="utf-16")
    assert "a.bin is binary (8 bytes, it begins with 7f 45" in box.refusal(
        "read_file", path="a.bin"
    )
    assert "UTF-16" in box.refusal("read_file", path="b.txt")


def test_a_huge_file_is_refused_without_reading_it(box: Toolbox) -> None:
    with (box.root / "huge").open("wb") as file:
        file.truncate(10**12)
    assert "1,000,000,000,000 bytes" in box.refusal("read_file", path="huge")


@pytest.mark.parametrize("piece", [b"x" * 999 + b"\n", b"x" * 1000])
def test_a_file_without_an_end_is_given_up(piece: bytes) -> None:
    """Some files of /proc say that they have 0 bytes, and go on for ever."""

    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            buffer[:] = piece * (len(buffer) // 1000) + b"x" * (len(buffer) % 1000)
            return len(buffer)

    with pytest.raises(ToolError, match="200,000,000 bytes, too many"):
        read_page(io.BufferedReader(Endless()), 1, None, CancelToken())


def test_no_special_file_hangs(box: Toolbox) -> None:
    os.mkfifo(box.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(box.root / "sock"))
        assert "named pipe" in box.refusal("read_file", path="pipe")
        assert "can't read" in box.refusal("read_file", path="sock")
        assert "device" in box.refusal("read_file", path="/dev/zero")
        assert "is a folder" in box.refusal("read_file", path=".")
        for name in ("pipe", "sock"):
            box.refusal("write_file", path=name, content="x")
            assert not stat.S_ISREG((box.root / name).stat().st_mode)
        assert "is a folder" in box.refusal("write_file", path=".", content="x")
        assert "named pipe" in box.refusal(
            "edit_file", path="pipe", edits=[{"old_text": "a", "new_text": "b"}]
        )


def test_a_missing_file_names_its_neighbours(box: Toolbox) -> None:
    (box.root / "Settings.py").touch()
    assert box.refusal("read_file", path="setings.py") == (
        "setings.py doesn't exist; near it: Settings.py"
    )
    assert "there is no folder" in box.refusal("read_file", path="no/such/file")


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_what_is_no_path_is_refused(box: Toolbox, path: str) -> None:
    assert "path" in box.refusal("read_file", path=path)


def test_a_loop_of_links_is_told(box: Toolbox) -> None:
    (box.root / "a").symlink_to("b")
    (box.root / "b").symlink_to("a")
    assert "is a link that leads nowhere" in box.refusal("read_file", path="a")
    assert "is a link that leads nowhere" in box.refusal("write_file", path="a", content="x")
    assert (box.root / "a").is_symlink()


def test_reading_heeds_its_token(box: Toolbox) -> None:
    (box.root / "a").write_text("x\n" * 200_000)
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        box.call("read_file", token, path="a")


def test_write_makes_folders_and_counts_lines(box: Toolbox) -> None:
    assert box.text("write_file", path="a/b/c.txt", content="1\n2") == "created a/b/c.txt: 2 lines"
    assert (box.root / "a/b/c.txt").read_bytes() == b"1\n2"
    again = box.text("write_file", path="a/b/c.txt", content="1\r\n")
    assert again == "overwrote a/b/c.txt: 1 line, before 2 lines"
    assert (box.root / "a/b/c.txt").read_bytes() == b"1\r\n"


def test_a_new_file_has_the_ordinary_mode_and_an_old_one_keeps_its_own(box: Toolbox) -> None:
    plain = box.root / "plain"
    plain.touch()
    box.text("write_file", path="new", content="x")
    assert (box.root / "new").stat().st_mode == plain.stat().st_mode
    plain.chmod(0o741)
    box.text("write_file", path="plain", content="x")
    assert stat.S_IMODE(plain.stat().st_mode) == 0o741


def test_writing_through_a_link_replaces_the_target(box: Toolbox) -> None:
    (box.root / "target").write_text("old")
    (box.root / "link").symlink_to("target")
    box.text("write_file", path="link", content="new")
    assert (box.root / "link").is_symlink()
    assert (box.root / "target").read_text() == "new"


def test_half_a_surrogate_pair_is_not_written(box: Toolbox) -> None:
    assert "no character" in box.refusal("write_file", path="a", content="x\ud800")
    assert not (box.root / "a").exists()


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(box: Toolbox) -> None:
    file = box.root / "a"
    file.write_text("one\n")
    box.text("read_file", path="a")
    file.write_text("two\n")
    assert "changed since you last read it" in box.refusal("write_file", path="a", content="x")
    assert file.read_text() == "two\n"
    box.text("read_file", path="a")
    box.text("write_file", path="a", content="x")
    box.text("write_file", path="a", content="y")  # its own writing is no change


def test_touching_a_file_is_no_change(box: Toolbox) -> None:
    (box.root / "a").write_text("one\n")
    box.text("read_file", path="a", start_line=1, end_line=1)
    os.utime(box.root / "a", (1, 1))
    box.text("write_file", path="a", content="x")


def test_a_folder_that_can_t_be_written_gives_one_clear_line(box: Toolbox) -> None:
    (box.root / "a").write_text("x")
    words = box.refusal("write_file", path="a/b", content="x")
    assert words == "can't write a/b: a part of its path is a file"


def test_a_name_with_a_line_end_forges_no_line_of_the_diff(box: Toolbox) -> None:
    forged = "ok.py\n@@ -1 +1 @@\n+harmless"
    shown = box.preview("write_file", path=forged, content="rm -rf\n")
    assert shown is not None
    assert [line for line in shown.splitlines() if line.startswith("+")] == [
        "+++ b/ok.py\\n@@ -1 +1 @@\\n+harmless",
        "+rm -rf",
    ]


def test_the_preview_of_a_new_file_and_of_an_old_one(box: Toolbox) -> None:
    assert box.preview("write_file", path="a", content="one\n") == (
        "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+one\n"
    )
    (box.root / "a").write_text("one\n")
    assert box.preview("write_file", path="a", content="two\n") == (
        "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n"
    )
    assert box.preview("write_file", path="a", content="one\n") == "a already holds just this"
    assert box.preview("write_file", path="b", content="") == "b is new and empty"
    with pytest.raises(ToolError, match="is a folder"):
        box.preview("write_file", path=".", content="x")
    assert (box.root / "a").read_text() == "one\n"


def test_a_path_outside_is_cautioned(box: Toolbox, tmp_path: Path) -> None:
    (tmp_path / "ws-secrets").mkdir()
    (tmp_path / "ws-secrets" / "key").write_text("k")
    (box.root / "link").symlink_to(tmp_path / "ws-secrets")
    outside = box.caution("read_file", path="../ws-secrets/key")
    assert outside is not None
    assert "outside the workspace" in outside
    through = box.caution("write_file", path="link/new", content="")
    assert through is not None
    assert "leads through a link to" in through
    assert str(tmp_path / "ws-secrets" / "new") in through
    for name in ("read_file", "write_file", "edit_file", "list_files", "search"):
        assert box.caution(name, path="sub/../a") is None
        assert box.caution(name, path="/etc") is not None
