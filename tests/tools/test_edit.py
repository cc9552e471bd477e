"""edit_file: exact, all or nothing, and every other byte as it was."""

from __future__ import annotations

import os
import re
import stat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.errors import ToolError
from claw.tools.edit import Edit, apply_edits
from tests.support.toolbox import Toolbox


def edit(old: str, new: str, **more: Any) -> Edit:
    return {"old_text": old, "new_text": new, **more}  # type: ignore[typeddict-item]


def edited(data: bytes, *edits: Edit) -> bytes:
    return apply_edits(data, edits)[0]


def test_one_match_is_replaced_and_shown(box: Toolbox) -> None:
    (box.root / "a.py").write_text("x = 1\ny = 2\n")
    lines = box.text("edit_file", path="a.py", edits=[edit("y = 2", "y = 3")]).split("\n")
    assert lines[0] == "edited a.py: 1 replacement"
    assert lines[1:4] == ["--- a/a.py", "+++ b/a.py", "@@ -1,2 +1,2 @@"]
    assert lines[4:] == [" x = 1", "-y = 2", "+y = 3"]
    assert (box.root / "a.py").read_text() == "x = 1\ny = 3\n"


def test_several_matches_are_refused_with_count_and_lines(box: Toolbox) -> None:
    (box.root / "a.py").write_text("x = 1\ny = 2\nx = 1\n")
    words = box.refusal("edit_file", path="a.py", edits=[edit("x = 1", "x = 9")])
    assert "2 times" in words
    assert "at lines 1, 3" in words
    assert "nothing was written" in words
    assert (box.root / "a.py").read_text() == "x = 1\ny = 2\nx = 1\n"


def test_overlapping_matches_count_as_several() -> None:
    with pytest.raises(ToolError, match="2 times"):
        edited(b"aaa", edit("aa", "b"))
    with pytest.raises(ToolError, match="at least 1,000 times"):
        edited(b"a" * 5000, edit("aa", "b"))


def test_replace_all_goes_from_left_to_right() -> None:
    assert apply_edits(b"aaaXaa", [edit("aa", "b", replace_all=True)]) == (b"baXb", 2)


def test_edits_apply_in_order_each_on_the_one_before() -> None:
    assert edited(b"one two", edit("one", "three"), edit("three two", "four")) == b"four"


def test_all_or_none(box: Toolbox) -> None:
    (box.root / "a").write_text("one\ntwo\n")
    words = box.refusal("edit_file", path="a", edits=[edit("one", "1"), edit("three", "3")])
    assert words.startswith("edit 2 of 2: old_text was not found")
    assert (box.root / "a").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([], "edits is empty"),
        ([edit("", "x")], "old_text is empty"),
        ([edit("a", "a")], "are the same"),
        ([edit("zzz", "a")], "blanks included"),
        (
            [edit("  a = 1\nb", "x")],
            "at line 1 there is a text that differs from it in blanks only",
        ),
        ([edit("     1\ta = 1", "x")], "leave them out"),
        ([edit("a\ud800", "x")], "no character"),
    ],
)
def test_refusals_say_what_to_do(edits: list[Edit], words: str) -> None:
    with pytest.raises(ToolError) as caught:
        edited(b"a = 1\n    b\n", *edits)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (b"a\r\nb\r\nc\r\n", edit("a\nb\n", "a\nB\n"), b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\nc", edit("b", "b\nnew"), b"a\r\nb\r\nnew\r\nc"),
        (b"a\r\nb", edit("b", "b\nnew"), b"a\r\nb\r\nnew"),
        (b"a\nb\r\nc\n", edit("a\nb\nc", "A\nB"), b"A\nB\n"),
        (b"a\nb\r\nc\r\n", edit("b\nc", "B\nC"), b"a\nB\r\nC\r\n"),
        (b"a\r\r\nb\r\r\n", edit("b", "c"), b"a\r\r\nc\r\r\n"),
        (b"a\rb\rc", edit("b", "B\nD"), b"a\rB\nD\rc"),
        (b"a\nb\n", edit("a\n", "a\r\n"), b"a\r\nb\n"),
        (b"a\r\nb\r\n", edit("a\r\n", "a\n"), b"a\nb\r\n"),
        (b"x\r\n\r\ny", edit("\n\ny", "\ny"), b"x\r\ny"),
        (b"x\r\ny", edit("\ny", "\nz"), b"x\r\nz"),
        (b"\xef\xbb\xbfone\r\n", edit("one", "two"), b"\xef\xbb\xbftwo\r\n"),
        (b"caf\xe9 one\nplain two\n", edit("plain two", "plain 2"), b"caf\xe9 one\nplain 2\n"),
        ("π = 3\n".encode(), edit("π", "ψ"), "ψ = 3\n".encode()),
        (b"no end", edit("end", "END"), b"no END"),
        (b"a\0b", edit("b", "c"), b"a\0c"),
    ],
)
def test_line_ends_and_foreign_bytes_stay(before: bytes, change: Edit, after: bytes) -> None:
    assert edited(before, change) == after


def test_other_text_than_ascii_is_not_put_into_a_file_of_another_encoding() -> None:
    with pytest.raises(ToolError, match="isn't UTF-8"):
        edited(b"caf\xe9\nx\n", edit("x", "\ufffd"))


@given(
    parts=st.lists(st.binary(max_size=20), min_size=2, max_size=5),
    new=st.text(st.characters(max_codepoint=0x7F, exclude_characters="\r\n")),
)
def test_bytes_outside_the_matches_are_untouched(parts: list[bytes], new: str) -> None:
    marker = "@@MARK@@"
    parts = [part.replace(b"@", b"") for part in parts]
    before = marker.encode().join(parts)
    assert edited(before, edit(marker, new, replace_all=True)) == new.encode().join(parts)


@given(st.lists(st.sampled_from(["a", "b", "\n"]), max_size=12).map("".join), st.data())
def test_a_crlf_file_is_edited_as_its_lf_twin_is(text: str, data: st.DataObject) -> None:
    old = data.draw(
        st.lists(st.sampled_from(["a", "b", "\n"]), min_size=1, max_size=4).map("".join)
    )
    change = edit(old, "x\ny")
    twin = text.replace("\n", "\r\n").encode()
    if refusal_of(text.encode(), change):
        assert refusal_of(twin, change) == refusal_of(text.encode(), change)
    else:
        ends = b"\r\n" if "\n" in text else b"\n"
        assert edited(twin, change) == edited(text.encode(), change).replace(b"\n", ends)


def refusal_of(data: bytes, *edits: Edit) -> str:
    try:
        edited(data, *edits)
    except ToolError as error:
        return error.message
    return ""


def model(data: bytes, edits: list[Edit]) -> bytes | None:
    """What the edits make of the file, in the simplest words; None where they are refused.

    The file is a list of units: a byte each, but CR LF is one, and equal to LF.
    """
    for change in edits:
        old, new = change["old_text"].encode(), change["new_text"].encode()
        if not old or old == new or (not new.isascii() and not valid(data)):
            return None
        literal = b"\r" in old
        units = units_of(data, literal)
        wanted = units_of(old, literal)
        at = [
            i
            for i in range(len(units) - len(wanted) + 1)
            if [as_lf(u, literal) for u in units[i : i + len(wanted)]] == wanted
        ]
        if not at or (len(at) > 1 and not change.get("replace_all")):
            return None
        result: list[bytes] = []
        done = 0
        for i in at:
            if i >= done:
                result += [*units[done:i], with_ends(new, units, i, literal)]
                done = i + len(wanted)
        data = b"".join([*result, *units[done:]])
    return data


def units_of(data: bytes, literal: bool) -> list[bytes]:
    return re.findall(rb"." if literal else rb"\r\n|.", data, re.DOTALL)


def as_lf(unit: bytes, literal: bool) -> bytes:
    return b"\n" if unit == b"\r\n" and not literal else unit


def with_ends(new: bytes, units: list[bytes], at: int, literal: bool) -> bytes:
    """The line end where the text goes in: the next one, at the end of the file the last."""
    ends = [unit for unit in units[at:] + units[:at][::-1] if unit.endswith(b"\n")]
    as_it_is = literal or b"\r" in new or not ends
    return new if as_it_is else new.replace(b"\n", ends[0])


def valid(data: bytes) -> bool:
    return b"\xff" not in data


texts = st.lists(st.sampled_from(["a", "b", "\n", "\n", "\r", "\r\n", "é"]), max_size=4).map(
    "".join
)
files = st.lists(
    st.sampled_from([b"a", b"b", b"aab", b"\n", b"\r\n", b"\r", "é".encode(), b"\xff"]), max_size=14
).map(b"".join)
changes = st.builds(edit, texts, texts, replace_all=st.booleans())


@given(files, st.lists(changes, min_size=1, max_size=3))
def test_edits_do_what_the_simplest_words_say(data: bytes, edits: list[Edit]) -> None:
    found = None if refusal_of(data, *edits) else edited(data, *edits)
    assert found == model(data, edits)


def test_mode_and_link_stay(box: Toolbox) -> None:
    script = box.root / "run.sh"
    script.write_text("echo one\n")
    script.chmod(0o755)
    (box.root / "link").symlink_to("run.sh")
    box.text("edit_file", path="link", edits=[edit("one", "two")])
    assert script.read_text() == "echo two\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert (box.root / "link").is_symlink()


def test_a_file_that_changed_since_it_was_read_is_not_edited(box: Toolbox) -> None:
    file = box.root / "a"
    file.write_text("one\ntwo\n")
    box.text("read_file", path="a")
    file.write_text("one\ntwo\nthree\n")
    words = box.refusal("edit_file", path="a", edits=[edit("one", "1")])
    assert "changed since you last read it" in words
    assert file.read_text() == "one\ntwo\nthree\n"


def test_a_command_that_changes_the_file_counts_as_a_change(box: Toolbox) -> None:
    box.text("write_file", path="a", content="one\n")
    box.text("edit_file", path="a", edits=[edit("one", "two")])
    box.text("bash", command="echo three >> a")
    assert "read it again" in box.refusal("edit_file", path="a", edits=[edit("two", "2")])


def test_missing_and_too_large_files(box: Toolbox) -> None:
    assert "write_file makes new files" in box.refusal(
        "edit_file", path="a", edits=[edit("a", "b")]
    )
    with (box.root / "big").open("wb") as file:
        file.truncate(30_000_000)
    assert "too many to change" in box.refusal("edit_file", path="big", edits=[edit("a", "b")])


def test_the_preview_is_the_whole_diff_or_refuses(box: Toolbox) -> None:
    (box.root / "a").write_text("".join(f"line {n}\n" for n in range(400)))
    change = edit("line", "LINE", replace_all=True)
    shown = box.preview("edit_file", path="a", edits=[change])
    assert shown is not None
    assert shown.count("\n+LINE") == 400
    with pytest.raises(ToolError, match="111 times"):
        box.preview("edit_file", path="a", edits=[edit("line 3", "x")])
    with pytest.raises(ToolError, match="not found"):
        box.preview("edit_file", path="a", edits=[edit("zz", "x")])
    assert "LINE" not in (box.root / "a").read_text()
    assert "more lines of diff" in box.text("edit_file", path="a", edits=[change])


def test_an_edit_never_leaves_a_temporary_file(box: Toolbox) -> None:
    (box.root / "a").write_text("one\n")
    box.text("edit_file", path="a", edits=[edit("one", "two")])
    assert [path.name for path in box.root.iterdir()] == ["a"]


def test_the_sign_for_unknown_bytes_is_not_taken_for_them(box: Toolbox) -> None:
    (box.root / "f").write_bytes("café\nplain\n".encode("latin-1"))
    box.text("read_file", path="f")
    edits = [{"old_text": "caf\ufffd", "new_text": "tea"}]
    assert "U+FFFD stands for bytes that aren't UTF-8" in box.refusal(
        "edit_file", path="f", edits=edits
    )


def test_a_broken_hard_link_is_told(box: Toolbox) -> None:
    (box.root / "f").write_text("a\n")
    os.link(box.root / "f", box.root / "g")
    box.text("read_file", path="f")
    words = "(it had 1 more name, by hard links: not changed there)"
    edits = [{"old_text": "a", "new_text": "b"}]
    assert words in box.text("edit_file", path="f", edits=edits)
    assert (box.root / "g").read_text() == "a\n"
    assert words not in box.text("write_file", path="f", content="c\n")
    os.link(box.root / "f", box.root / "h")
    assert words in box.text("write_file", path="f", content="d\n")
