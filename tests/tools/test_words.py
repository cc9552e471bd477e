"""Text from outside as a part of a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claw.tools.words import first_few, one_line


def test_what_a_name_holds_besides_text_is_escaped() -> None:
    assert one_line("a\nb\r\x1b[1m\x85\u2028") == "a\\nb\\r\\x1b[1m\\x85\\u2028"
    assert one_line("caf\udce9") == "caf\\xe9"


def test_a_name_that_can_be_used_stays_as_it_is() -> None:
    for name in ("é", "at 3.14\u202fPM.png", "👩\u200d🚀", "a b"):
        assert one_line(name) == name


@given(st.binary())
def test_any_name_is_one_line_of_valid_text(name: bytes) -> None:
    line = one_line(name.decode("utf-8", "surrogateescape"))
    line.encode()
    assert len(line.splitlines()) <= 1


def test_the_first_few_are_named_and_the_others_counted() -> None:
    assert first_few(["a", "b"], 2) == "a, b"
    assert first_few(["a", "b", "c", "d"], 2, "; ") == "a; b; and 2 more"
    assert first_few([], 2) == ""
