"""The diff that people approve and models read."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from claw.tools.diff import shortened, unified_diff

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=30)


@given(lines, lines, lines, lines)
def test_setting_equal_ends_aside_changes_nothing(
    head: list[str], old: list[str], new: list[str], tail: list[str]
) -> None:
    """The same hunks as for the whole files, or others that turn one into the other as well."""
    before, after = "".join(head + old + tail), "".join(head + new + tail)
    assert applied(before, unified_diff(before.encode(), after.encode(), "x")) == after


def applied(before: str, diff: str) -> str:
    """`before` with the hunks of a diff applied, each exactly where it says."""
    source, result, at = before.splitlines(keepends=True), [], 0
    for line in diff.splitlines(keepends=True)[2:]:
        if line.startswith("@@"):
            start, _, size = line.split()[1][1:].partition(",")
            begin = int(start) - (size != "0")
            result += source[at:begin]
            at = begin
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert source[at] == line[1:]
            at += 1
            result += [line[1:]] if line.startswith(" ") else []
    return "".join(result + source[at:])


def test_line_ends_are_shown_only_where_they_differ() -> None:
    assert "\r" not in unified_diff(b"a\r\nb\r\n", b"a\r\nc\r\n", "x")
    assert unified_diff(b"a\r\n", b"a\n", "x").endswith("-a\r\n+a\n")
    assert unified_diff(b"a\n", b"a", "x").endswith("-a\n+a\n\\ No newline at end of file\n")


def test_bytes_that_are_no_text_are_spelled_out() -> None:
    assert unified_diff(b"caf\xe9\n", b"cafe\n", "x").endswith("-caf\\xe9\n+cafe\n")
    assert "-a\x0cb\n" in unified_diff(b"a\x0cb\n", b"c\n", "x")


def test_an_equal_content_has_no_diff() -> None:
    assert unified_diff(b"a\n", b"a\n", "x") == ""
    assert unified_diff(None, b"", "x") == ""


def test_a_small_change_in_a_large_file_is_found_at_once() -> None:
    before = b"".join(b"line %d\n" % (n % 50) for n in range(200_000))
    after = before.replace(b"line 7\n", b"LINE 7\n", 1)
    began = time.monotonic()
    assert unified_diff(before, after, "x").count("\n") == 11
    assert time.monotonic() - began < 2


def test_a_change_everywhere_in_a_large_file_is_one_hunk() -> None:
    before = "".join(f"line {n % 300}\n" for n in range(50_000))
    after = "top\n" + "".join(f"LINE {n % 300}\n" for n in range(50_000)) + "end\n"
    began = time.monotonic()
    diff = unified_diff(f"{before}end\n".encode(), after.encode(), "x")
    assert time.monotonic() - began < 2
    assert diff.count("@@ -") == 1
    assert applied(f"{before}end\n", diff) == after


def test_a_shortened_diff_says_what_is_missing() -> None:
    diff = "".join(f"+{n}\n" for n in range(100))
    assert shortened(diff, most_lines=10).splitlines()[-1] == "[... 90 more lines of diff ...]"
    assert shortened("+a\n") == "+a"
