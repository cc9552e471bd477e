"""Ignored files: git's own answers, everywhere, and no pattern that takes for ever."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from claw.cancel import CancelToken
from claw.tools.ignore import IgnoreFile
from claw.tools.walk import Walk
from claw.tools.workspace import Workspace
from tests.support.toolbox import Toolbox

# Each of these takes a while: fewer of them in a short run.
EXAMPLES = settings().max_examples if os.environ.get("CLAW_STRESS") else 60
GIT = shutil.which("git")


def ignored(lines: str, *paths: str) -> list[str]:
    """Those of the paths that the lines ignore by themselves; a / at the end says folder."""
    file = IgnoreFile(lines)
    bare = {path: path.removesuffix("/") for path in paths}
    return [
        path
        for path, each in bare.items()
        if file.says(each, each.rpartition("/")[2], path.endswith("/"))
    ]


@pytest.mark.parametrize(
    ("lines", "matching", "others"),
    [
        ("*.log", ["a.log", "x/a.log", "logs.log/"], ["a.logs", "log"]),
        ("build/", ["build/", "x/build/"], ["build", "builds/"]),
        ("/build", ["build", "build/"], ["x/build"]),
        ("a/b", ["a/b"], ["x/a/b", "a/b/c"]),
        ("a/", ["a/"], ["a"]),
        ("**/a/b", ["a/b", "x/y/a/b"], ["xa/b"]),
        ("a/**", ["a/b", "a/b/c"], ["a/", "a"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/xb", "ab"]),
        ("a**b", ["ab", "axb"], ["a/b"]),
        ("**", ["a", "x/a"], []),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[a-c]x", ["ax", "cx"], ["dx"]),
        ("[!a-c]x", ["dx"], ["ax"]),
        ("[[:digit:]]", ["1"], ["a", ":"]),
        ("[]x]", ["]", "x"], ["[]x]"]),
        ("[a", [], ["[a", "a"]),
        ("a\\", [], ["a", "a\\"]),
        ("\\#a", ["#a"], ["a"]),
        ("#a", [], ["#a", "a"]),
        ("\\!a", ["!a"], ["a"]),
        ("a  ", ["a"], ["a  "]),
        ("a\\ ", ["a "], ["a"]),
        ("a\r\n\r\nb", ["a", "b"], ["\r"]),
        ("*\n!a", ["b"], ["a", "x/a"]),
        ("!a\n*", ["a", "b"], []),
        ("*.o\n!/keep.o", ["a.o", "x/keep.o"], ["keep.o"]),
        ("/\n!\n!/\n//", [], ["a", "a/"]),
        ("{a,b}", ["{a,b}"], ["a", "b"]),
        ("caf\xe9*", ["caf\xe9s"], ["cafe"]),
    ],
)
def test_patterns(lines: str, matching: list[str], others: list[str]) -> None:
    assert ignored(lines, *matching, *others) == matching


@pytest.mark.parametrize(
    "pattern", ["*a" * 30 + "b", "/" + "**/a/" * 30 + "b", "*" * 200 + "b", "[a-z]*" * 40 + "1"]
)
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    began = time.monotonic()
    assert ignored(pattern, "a" * 250, "a/" * 95 + "a") == []
    assert time.monotonic() - began < 0.5


def make(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def test_nested_files_and_negation(box: Toolbox) -> None:
    make(
        box.root,
        {
            ".gitignore": "*.log\nout/\n",
            "a.log": "",
            "out/b": "",
            "src/.gitignore": "!keep.log\n/gen\n",
            "src/keep.log": "",
            "src/other.log": "",
            "src/gen": "",
            "src/x/gen": "",
        },
    )
    assert box.text("list_files").split("\n") == [
        ".gitignore",
        "src/.gitignore",
        "src/keep.log",
        "src/x/gen",
        "[left out by .gitignore: a.log, out/, src/gen, src/other.log]",
    ]
    assert box.text("list_files", path="src").split("\n")[:-1] == [
        "src/.gitignore",
        "src/keep.log",
        "src/x/gen",
    ]


def test_naming_what_is_ignored_shows_it(box: Toolbox) -> None:
    make(box.root, {".gitignore": "out\n*.log\n", "out/a": "word\n", "b.log": "word\n"})
    assert box.text("search", pattern="word") == "no matches"
    assert box.text("search", pattern="word", path="out") == "out/a:1: word"
    assert box.text("search", pattern="word", path="b.log") == "b.log:1: word"
    assert box.text("list_files", path="out") == "out/a"


def test_a_repository_brings_its_own_rules(box: Toolbox, tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".git/info/exclude": "*.tmp\n",
            ".gitignore": "*.log\n",
            "ws/a.log": "",
            "ws/a.tmp": "",
            "ws/a.py": "",
            "ws/inner/.git/HEAD": "",
            "ws/inner/.git/info/exclude": "b.py\n",
            "ws/inner/a.log": "",
            "ws/inner/b.py": "",
        },
    )
    assert box.text("list_files").split("\n") == [
        "a.py",
        "inner/a.log",
        "[left out by .gitignore: a.log, a.tmp, inner/b.py]",
    ]


def test_a_workspace_that_the_folders_above_ignore_is_still_seen(
    box: Toolbox, tmp_path: Path
) -> None:
    """As in a home folder that is a repository of its settings, with `*` in its .gitignore."""
    make(tmp_path, {".git/HEAD": "", ".gitignore": "*\n", "ws/a.py": "", "ws/.gitignore": "b\n"})
    assert box.text("list_files") == ".gitignore\na.py"


def test_without_a_repository_nothing_above_the_workspace_counts(
    box: Toolbox, tmp_path: Path
) -> None:
    make(tmp_path, {".gitignore": "*.py\n", "ws/a.py": "", "ws/b/c.txt": "", "ws/.gitignore": "c*"})
    assert box.text("list_files") == ".gitignore\na.py\n[left out by .gitignore: b/c.txt]"
    assert box.text("list_files", path="b").startswith("(no files)")


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "huge"])
def test_a_gitignore_that_is_no_ordinary_file(box: Toolbox, kind: str) -> None:
    make(box.root, {"a": "", "rules": "a\n"})
    path = box.root / ".gitignore"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("rules")
    else:
        path.write_text("#" * 10_000_000 + "\na\n")
    assert "a" in box.text("list_files").split("\n")


def test_ignored_folders_are_not_opened(box: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    make(box.root, {".gitignore": "big/\n", "big/x/a": "", "small/b": ""})
    opened: list[str] = []
    real = os.open

    def spy(path: Any, *rest: Any, **more: Any) -> int:
        opened.append(str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", spy)
    assert box.text("list_files") == ".gitignore\nsmall/b\n[left out by .gitignore: big/]"
    assert "small" in opened
    assert not {"big", "x"} & set(opened)


names = st.sampled_from(["a", "b", "ab", "a.o", "b.o", ".x", "a b", "[a]", "#a", "!a"])
parts = st.one_of(
    names,
    st.sampled_from(["*", "**", "*.o", "?", "a*", "*b", "[ab]", "[!a]", "[a-b]*", "\\#a", "\\[a]"]),
)
patterns = st.builds(
    lambda bang, lead, inner, tail: f"{bang}{lead}{'/'.join(inner)}{tail}",
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(parts, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "\\ "]),
)
ignore_files = st.lists(patterns, max_size=5).map("\n".join)
trees = st.lists(
    st.lists(names, min_size=1, max_size=4).map("/".join), min_size=1, max_size=12, unique=True
)


@pytest.mark.skipif(GIT is None, reason="needs git, which is the judge here")
@settings(max_examples=EXAMPLES)
@given(trees, ignore_files, st.dictionaries(names, ignore_files, max_size=2))
@example(["a/b"], "*\n!a/\n", {})
def test_git_says_the_same(paths: Sequence[str], top: str, nested: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in paths:
            target = root / path
            # A name may be both a file and a folder of another path: the first one stays.
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
            except OSError:
                continue
        (root / ".gitignore").write_text(f"{top}\n")
        for name, lines in nested.items():
            if (root / name).is_dir():
                (root / name / ".gitignore").write_text(f"{lines}\n")
        env = {"HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
        subprocess.run([str(GIT), "init", "-q", "--template=", folder], env=env, check=True)
        listed = subprocess.run(
            [str(GIT), "ls-files", "-z", "--others", "--exclude-standard"],
            cwd=folder,
            env=env,
            check=True,
            capture_output=True,
        ).stdout.decode()
        walk = Walk(Workspace(root).locate("."), (".git",), CancelToken())
        assert sorted(walk.files()) == sorted(listed.split("\0")[:-1])
