"""search: the same answers with ripgrep and without, and no pattern that can't be stopped."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from claw.cancel import CancelToken
from claw.errors import Cancelled
from tests.support.processes import gone_within
from tests.support.toolbox import Toolbox

SEARCHERS = ["python", *(["ripgrep"] if shutil.which("rg") else [])]


@pytest.fixture(params=SEARCHERS)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Toolbox]:
    """A workspace with some files, searched by Python, and by ripgrep where there is one."""
    root, programs = tmp_path / "ws", tmp_path / "bin"
    root.mkdir()
    programs.mkdir()
    if request.param == "ripgrep":
        (programs / "rg").symlink_to(shutil.which("rg") or "")
    toolbox = Toolbox(root, env={"PATH": str(programs)})
    for path, content in {
        "b.py": b"import os\ndef f():\n    return os\n",
        "a/c.py": b"import sys\r\n# os.path\r\n",
        "a/d.txt": b"os here\ncaf\xe9 os\n",
        "x.bin": b"os\0\1",
        ".git/config": b"os\n",
        "node_modules/m.js": b"os\n",
        ".hidden": b"os\n",
        "ignored/e.txt": b"os\n",
        ".gitignore": b"ignored\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    (root / "link").symlink_to("b.py")
    yield toolbox
    toolbox.close()


def test_matching_lines_with_path_and_number_sorted(box: Toolbox) -> None:
    assert box.text("search", pattern=r"\bos\b").split("\n") == [
        ".hidden:1: os",
        "a/c.py:2: # os.path",
        "a/d.txt:1: os here",
        "a/d.txt:2: caf\ufffd os",
        "b.py:1: import os",
        "b.py:3:     return os",
    ]


def test_path_and_glob_narrow_it(box: Toolbox) -> None:
    assert box.text("search", pattern="os", path="a") == (
        "a/c.py:2: # os.path\na/d.txt:1: os here\na/d.txt:2: caf\ufffd os"
    )
    assert box.text("search", pattern="os", glob="*.py", path="a") == "a/c.py:2: # os.path"
    assert box.text("search", pattern="^os", path="a/d.txt") == "a/d.txt:1: os here"
    assert box.text("search", pattern="import", glob="a/*.py") == "a/c.py:1: import sys"
    assert box.text("search", pattern="IMPORT") == "no matches"
    assert box.text("search", pattern="(?i)IMPORT S") == "a/c.py:1: import sys"


def test_a_pattern_or_a_file_that_begins_with_a_dash(box: Toolbox) -> None:
    (box.root / "-e").write_text("--os\n")
    assert box.text("search", pattern="--os") == "-e:1: --os"
    assert box.text("search", pattern="-", path="-e") == "-e:1: --os"


def test_look_behind_works_whatever_searches(box: Toolbox) -> None:
    assert box.text("search", pattern="(?<=return )os") == "b.py:3:     return os"


def test_a_pattern_that_is_none_is_told(box: Toolbox) -> None:
    words = box.refusal("search", pattern="(os")
    assert words.startswith("pattern is no regular expression: ")
    assert "\n" not in words


def test_a_pattern_that_python_warns_about_searches_quietly(box: Toolbox) -> None:
    assert "Warning" not in box.call("search", pattern="[[:alpha:]]+ here").content


def test_results_are_bounded(box: Toolbox) -> None:
    (box.root / "many.log").write_text("needle\n" * 100_000)
    (box.root / "long.log").write_text("needle" + "x" * 3_000_000 + "\n")
    lines = box.text("search", pattern="needle").split("\n")
    assert len(lines) == 201
    assert lines[-1] == "[stopped after 200 lines, there may be more: narrow it]"
    assert max(map(len, lines)) < 500


def test_many_files_are_searched_in_order_over_several_runs(box: Toolbox) -> None:
    for number in range(3_000):
        (box.root / f"{'long' * 20}-{number:04}").write_text("needle\n" if number % 20 else "x\n")
    lines = box.text("search", pattern="needle").split("\n")
    assert lines == [*sorted(lines[:-1]), "[stopped after 200 lines, there may be more: narrow it]"]
    last = box.text("search", pattern="needle", glob="*-29?[0-9]").split("\n")
    assert last == [f"{'long' * 20}-{n}:1: needle" for n in range(2900, 3000) if n % 20]


def test_the_end_of_a_line_is_where_its_text_ends(box: Toolbox) -> None:
    assert box.text("search", pattern="path$") == "a/c.py:2: # os.path"


def test_text_in_another_encoding_is_passed_over(box: Toolbox) -> None:
    (box.root / "wide.txt").write_text("import\n", encoding="utf-16")
    assert "wide" not in box.text("search", pattern="import")


def test_what_lies_outside_is_not_searched_through_links(box: Toolbox, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/f").write_text("secret\n")
    (box.root / "folder").symlink_to(tmp_path / "out")
    (box.root / "file").symlink_to(tmp_path / "out/f")
    assert box.text("search", pattern="secret") == "no matches"


def test_special_files_and_missing_ones(box: Toolbox) -> None:
    os.mkfifo(box.root / "pipe")
    assert "named pipe" in box.refusal("search", pattern="x", path="pipe")
    assert "doesn't exist" in box.refusal("search", pattern="x", path="nowhere")
    assert "import" in box.text("search", pattern="import")  # the pipe below the folder is skipped


def test_a_pattern_that_takes_for_ever_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text("a" * 60 + "!\n")
    box = Toolbox(tmp_path, env={"PATH": str(tmp_path)})
    token = CancelToken()
    timer = threading.Timer(0.3, token.cancel)
    timer.start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        box.call("search", token, pattern="(a+)+$")
    assert time.monotonic() - began < 2
    timer.join()
    box.close()
    assert gone_within(0.5, "(a+)+$")


@pytest.mark.stress
def test_a_hundred_thousand_files(box: Toolbox) -> None:
    for number in range(1_000):
        folder = box.root / f"p{number // 25}/m{number % 25}"
        folder.mkdir(parents=True)
        for name in range(100):
            (folder / f"f{name}.py").write_text(f"import os\nreturn {number} * {name}\n")
    began = time.monotonic()
    assert "p39/ (2,500 files)" in box.text("list_files")
    assert time.monotonic() - began < 4
    began = time.monotonic()
    assert box.text("search", pattern=r"return 999 \* 99$") == "p39/m24/f99.py:2: return 999 * 99"
    assert time.monotonic() - began < 30
