"""Tapes that were cut, damaged, or written by another claw."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.errors import ConfigError
from claw.tape import read_tape, replay
from tests.tape.test_replay import tools_and_answers

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tape of two runs with tools, denials and faults of tools."""
    return tools_and_answers(tmp_path_factory.mktemp("tape") / "tape").path.read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tapes") / "tape"


def test_a_cut_tape_is_replayed_as_far_as_it_goes(whole: bytes, place: Path) -> None:
    ends = [n + 1 for n, byte in enumerate(whole) if byte == ord("\n")]
    for end in random.Random(5).sample([*ends[1:], *range(ends[1], len(whole), 400)], 40):
        place.write_bytes(whole[:end])
        tape = read_tape(place)
        verdict = replay(tape)
        assert not verdict.difference, (end, verdict.difference)
        assert verdict.cut == (not all(run.whole for run in tape.runs.values()))


def test_a_cut_tape_has_all_that_stood_before_the_cut(whole: bytes, place: Path) -> None:
    for cut in range(0, len(whole), 97):
        place.write_bytes(whole[:cut])
        if b"\n" not in whole[: cut + 1]:
            with pytest.raises(ConfigError, match="is no tape"):
                read_tape(place)
            continue
        tape = read_tape(place)
        assert tape.damage == tape.cut_off <= 1


@given(garbage=st.binary(max_size=60), at=st.integers(0, 10_000))
def test_garbage_between_the_lines_costs_nothing_else(
    whole: bytes, place: Path, garbage: bytes, at: int
) -> None:
    lines = whole.splitlines(keepends=True)
    index = 1 + at % len(lines)
    place.write_bytes(
        b"".join([*lines[:index], garbage.replace(b"\n", b" ") + b"\n", *lines[index:]])
    )
    tape = read_tape(place)
    assert tape.damage == bool(garbage.strip())
    assert all(run.whole for run in tape.runs.values())


@given(data=st.data())
def test_a_line_with_other_values_is_no_reason_to_fail(
    whole: bytes, place: Path, data: st.DataObject
) -> None:
    lines = whole.splitlines()
    index = data.draw(st.integers(1, len(lines) - 1))
    record = json.loads(lines[index])
    name = data.draw(st.sampled_from(sorted(record)))
    record[name] = data.draw(VALUES)
    lines[index] = json.dumps(record).encode()
    place.write_bytes(b"\n".join(lines) + b"\n")
    tape = read_tape(place)
    assert tape.damage <= len(lines)


@given(header=st.binary(max_size=80) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_what_does_not_begin_as_a_tape_is_none(place: Path, header: bytes) -> None:
    place.write_bytes(header + b"\n")
    with pytest.raises(ConfigError, match="is no tape"):
        read_tape(place)


def test_a_newer_format_is_refused_in_words(whole: bytes, place: Path) -> None:
    place.write_bytes(whole.replace(b'"version":1', b'"version":2', 1))
    with pytest.raises(ConfigError, match=r"format 2, this one reads 1\): update claw"):
        read_tape(place)


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        read_tape(tmp_path)
    with pytest.raises(ConfigError, match="can't be read"):
        read_tape(tmp_path / "missing")
