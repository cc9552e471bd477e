"""The head and tail keeper: any bytes in any pieces become a short, valid text."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.tools.output import OutputKeeper
from claw.tools.temp_folder import TempFolder
from claw.tools.whole_output import OutputFolder, WholeOutput


@st.composite
def byte_pieces(draw: st.DrawFn) -> list[bytes]:
    text = st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))
    data = b"".join(draw(st.lists(st.one_of(st.binary(max_size=40), text), max_size=6)))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@given(byte_pieces())
def test_pieces_decode_as_the_whole_does(pieces: list[bytes]) -> None:
    keeper = OutputKeeper()
    live = "".join(keeper.feed(piece) for piece in pieces) + keeper.finish()
    assert live == b"".join(pieces).decode("utf-8", "replace")
    assert keeper.text() == live


@given(byte_pieces(), st.integers(3, 60))
def test_head_and_tail_are_the_ends_and_the_count_is_exact(pieces: list[bytes], limit: int) -> None:
    keeper = OutputKeeper(limit)
    whole = "".join(keeper.feed(piece) for piece in pieces) + keeper.finish()
    shown = keeper.text()
    shown.encode()
    if len(whole.encode()) <= limit:
        assert shown == whole
        return
    gap = re.search(r"\n?\[\.\.\. ([\d,]+) bytes left out \.\.\.\]\n", shown)
    assert gap is not None
    tail = shown[gap.end() :]
    head = shown[: gap.start()]
    assert whole.startswith(head)
    assert whole.endswith(tail)
    kept = len(head.encode()) + len(tail.encode())
    left_out = int(gap[1].replace(",", ""))
    # The line end before the gap is the head's own, or was added.
    assert len(whole.encode()) - kept - left_out in (0, 1)
    assert kept <= limit


def test_lines_are_kept_whole() -> None:
    keeper = OutputKeeper(300)
    for number in range(1000):
        keeper.feed(b"line %d\n" % number)
    lines = keeper.text().splitlines()
    assert lines[0] == "line 0"
    assert lines[-1] == "line 999"
    assert all(re.fullmatch(r"line \d+", line) for line in lines if not line.startswith("["))


@pytest.fixture
def folder() -> OutputFolder:
    return OutputFolder(TempFolder("output"))


def test_the_whole_is_written_only_when_something_is_left_out(folder: OutputFolder) -> None:
    opened: list[WholeOutput] = []

    def whole() -> WholeOutput:
        opened.append(folder.new_output())
        return opened[-1]

    try:
        small = OutputKeeper(100, whole)
        small.feed(b"x" * 100)
        small.finish()
        assert not opened
        large = OutputKeeper(100, whole)
        data = os.urandom(5000)
        for start in range(0, 5000, 7):
            large.feed(data[start : start + 7])
        large.finish()
        (file,) = opened
        assert file.path.read_bytes().decode() == data.decode("utf-8", "replace")
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
        assert f"the whole output is in {file.path}" in large.text()
    finally:
        folder.close()
    assert not opened[0].path.parent.exists()


def test_a_full_disk_is_told_and_stops_nothing() -> None:
    keeper = OutputKeeper(100, lambda: FullDisk(Path("/dev/full")))
    for _ in range(100):
        keeper.feed(b"x" * 10_000)
    keeper.finish()
    assert "the whole output is in /dev/full (incomplete: No space left on device)" in keeper.text()


def test_no_place_for_a_file_is_no_fault() -> None:
    def nowhere() -> WholeOutput:
        raise PermissionError("no")

    keeper = OutputKeeper(100, nowhere)
    keeper.feed(b"x" * 1000)
    keeper.finish()
    assert "900 bytes left out ...]" in keeper.text()


class FullDisk(WholeOutput):
    """Writes to a device that is always full."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._room = 1_000_000
        self._file = path.open("wb")
