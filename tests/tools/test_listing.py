"""list_files, and the globs it shares with search."""

from __future__ import annotations

import os
import re
import time

import pytest

from claw.cancel import CancelToken
from claw.errors import Cancelled
from claw.tools.globs import glob_regex
from tests.support.toolbox import Toolbox


def make(box: Toolbox, *paths: str) -> None:
    for path in paths:
        (box.root / path).parent.mkdir(parents=True, exist_ok=True)
        (box.root / path).write_text("x\n")


def test_files_are_listed_by_path_sorted_and_without_junk(box: Toolbox) -> None:
    make(box, "b.py", "a/z.py", "a/b/c.py", ".github/w.yml", ".git/config", "x/node_modules/m.js")
    assert box.text("list_files").split("\n") == [
        ".github/w.yml",
        "a/b/c.py",
        "a/z.py",
        "b.py",
    ]
    assert box.text("list_files", path="a").split("\n") == ["a/b/c.py", "a/z.py"]
    assert box.text("list_files", path="x/node_modules") == "x/node_modules/m.js"


def test_a_pattern_is_relative_to_the_folder(box: Toolbox) -> None:
    make(box, "b.py", "a/z.py", "a/b/c.py", "a/b/c.txt")
    assert box.text("list_files", pattern="*.py").split("\n") == ["a/b/c.py", "a/z.py", "b.py"]
    assert box.text("list_files", pattern="a/*.py") == "a/z.py"
    assert box.text("list_files", path="a", pattern="b/*") == "a/b/c.py\na/b/c.txt"
    assert box.text("list_files", pattern="*.rs") == "no file in . matches *.rs"


def test_too_many_files_become_folders_with_counts(box: Toolbox) -> None:
    make(box, "top.py", *(f"many/{n}.py" for n in range(1100)), "few/a.py")
    assert box.text("list_files").split("\n") == [
        "few/ (1 file)",
        "many/ (1,100 files)",
        "top.py",
    ]
    matching = box.text("list_files", pattern="*.py").split("\n")
    assert len(matching) == 1001
    assert matching[-1] == "[... 102 more: narrow the pattern or the path]"


def test_links_are_listed_and_not_followed(box: Toolbox) -> None:
    make(box, "a/f")
    (box.root / "a" / "loop").symlink_to("..")
    assert box.text("list_files") == "a/f\na/loop"


def test_any_file_name_becomes_one_valid_line(box: Toolbox) -> None:
    with open(os.fsencode(box.root) + b"/caf\xe9\nx", "wb"):
        pass
    assert box.text("list_files") == "caf\\xe9\\nx"


def test_words_for_an_empty_folder_a_file_and_nothing(box: Toolbox) -> None:
    assert box.text("list_files") == "(no files)"
    make(box, "src/a.py")
    assert "not a folder" in box.refusal("list_files", path="src/a.py")
    assert "near it: src" in box.refusal("list_files", path="scr")
    assert "is no glob" in box.refusal("list_files", pattern="[a")


def test_listing_heeds_its_token(box: Toolbox) -> None:
    make(box, "a")
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        box.call("list_files", token)


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("*.py", ["a.py", "x/a.py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/x/a.py", "x/src/a.py"]),
        ("/a.py", ["a.py"], ["x/a.py"]),
        ("./src/*.py", ["src/a.py"], ["x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("src/**", ["src/a", "src/x/a"], ["srcs/a"]),
        ("**/test_*", ["test_a", "x/test_b"], ["x/a_test_b"]),
        ("*.{ts,tsx}", ["a.ts", "x/a.tsx"], ["a.t", "a.ts,tsx"]),
        ("a?[0-9]", ["ab1"], ["a/1", "ab", "abx"]),
        ("[!a]b", ["cb"], ["ab"]),
        ("a,b", ["a,b"], ["a", "b"]),
        ("a+(b)", ["a+(b)"], ["aab"]),
        ("[]a]x", ["]x", "ax"], ["x", "[x"]),
        ("[z-a]", [], ["z", "a", "-"]),
        ("src/", ["src/a", "src/x/a"], ["src", "x/src/a"]),
        ("{a,b/{c,d*}}.py", ["a.py", "x/a.py", "b/c.py", "b/dx.py"], ["x/b/c.py", "b.py"]),
        (r"\*\{", ["*{"], ["a{"]),
        ("[{,}]", ["{", ","], ["[{,}]"]),
    ],
)
def test_globs(glob: str, matching: list[str], others: list[str]) -> None:
    pattern = re.compile(glob_regex(glob), re.DOTALL)
    assert [path for path in matching + others if pattern.fullmatch(path)] == matching


def test_no_glob_takes_for_ever() -> None:
    pattern = re.compile(glob_regex("**/" * 20 + "*a" * 30 + "{b,c}"), re.DOTALL)
    began = time.monotonic()
    assert pattern.fullmatch("a/" * 90 + "a" * 250) is None
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize("glob", ["{a", "a}", "[a", "a\\", "{a,b}" * 7])
def test_broken_globs(glob: str) -> None:
    with pytest.raises(ValueError, match="is no glob"):
        glob_regex(glob)
