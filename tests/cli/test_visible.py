"""What questions show of hidden characters, and what a terminal is sent of hostile text."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.cli.columns import columns, cut
from claw.cli.visible import TerminalFilter, shown, visible

ESC = "\x1b"
UNKNOWN = ("Cn", "Co")  # not assigned, or by somebody: a terminal shows a box

HIDDEN = {
    "escape": (f"a{ESC}[2Kb", "a<U+001B>[2Kb"),
    "carriage return": ("a\rb", "a<U+000D>b"),
    "bidi override": ("\u202egnp.", "<U+202E>gnp."),
    "zero width space": ("r\u200bm", "r<U+200B>m"),
    "joiner": ("r\u200dm", "r<U+200D>m"),
    "tag": ("x\U000e0041", "x<U+E0041>"),
    "variation selector": ("x\ufe0f\U000e0100", "x<U+FE0F><U+E0100>"),
    "no-break space": ("rm\u00a0x", "rm<U+00A0>x"),
    "line separator": ("a\u2028b", "a<U+2028>b"),
    "C1": ("\x9b2J", "<U+009B>2J"),
    "DEL and NUL": ("\x7f\0", "<U+007F><U+0000>"),
    "surrogate": ("\ud800", "<U+D800>"),
    "Hangul filler": ("x\u3164", "x<U+3164>"),
}


@pytest.mark.parametrize(("text", "seen"), HIDDEN.values(), ids=HIDDEN)
def test_a_question_shows_what_cannot_be_seen(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_a_question_leaves_ordinary_text_as_it_is() -> None:
    text = 'grep -n "naïve" datei.txt | head\n\t# 漢字 日本語 🎉 Ω — „so“\n'
    assert visible(text) == text


SEQUENCES = {
    "colour": f"{ESC}[31mred{ESC}[0m",
    "clipboard": f"{ESC}]52;c;cm0g\x07red",
    "clipboard, ended by ST": f"{ESC}]52;c;cm0g{ESC}\\red",
    "C1 forms": "\x9b31m\x9d0;title\x9cred",
    "device control": f"{ESC}P+q544e{ESC}\\red",
    "application command": f"{ESC}_G payload{ESC}\\red",
    "cursor report": f"{ESC}[6nred",
    "broken off by another": f"{ESC}[3{ESC}[31mred",
    "charset": f"{ESC}(0red",
    "reset": f"{ESC}cred",
    "bell, backspace, DEL": "r\x07e\x08d\x7f",
    "bidi and tags": "r\u202ee\u2066d\U000e0041",
}


@pytest.mark.parametrize("text", SEQUENCES.values(), ids=SEQUENCES)
def test_sequences_go_as_a_whole(text: str) -> None:
    assert shown(text) == "red"


@pytest.mark.parametrize("text", SEQUENCES.values(), ids=SEQUENCES)
def test_they_go_wherever_they_are_cut(text: str) -> None:
    for at in range(len(text) + 1):
        terminal = TerminalFilter()
        assert terminal.feed(text[:at]) + terminal.feed(text[at:]) == "red"


def test_a_clipboard_write_over_three_pieces() -> None:
    terminal = TerminalFilter()
    pieces = [terminal.feed(piece) for piece in (f"safe {ESC}", "]52;c;cm0g", "LXJmIH4K\x07 words")]
    assert pieces == ["safe ", "", " words"]


def test_a_sequence_without_an_end_hides_its_line_and_no_more() -> None:
    assert shown(f"one{ESC}]0;title for ever\ntwo") == "one\ntwo"


def test_emoji_sequences_and_wide_characters_stay() -> None:
    text = "👩‍🚀 ❤️ 漢字 é e\u0301 \t¡ol\xe9!\n"
    assert shown(text) == text


def test_half_of_a_surrogate_pair_can_be_written() -> None:
    assert shown("a\ud800b").encode() == "a\ufffdb".encode()


def hostile() -> st.SearchStrategy[str]:
    parts = [f"{ESC}[", f"{ESC}]", f"{ESC}P", ESC, "\x9b", "\x9d", "\x07", "\x9c", "\\", "m", ";"]
    parts += ["text", "\n", "\t", "\r", "\u202e", "\u200b", "\U000e0041", "\ud800", "\x7f"]
    return st.lists(st.sampled_from(parts) | st.text(max_size=3)).map("".join)


@given(hostile(), st.lists(st.integers(min_value=0, max_value=200), max_size=5))
def test_nothing_but_printable_text_gets_through(text: str, cuts: list[int]) -> None:
    terminal, places = TerminalFilter(), [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    out = "".join(terminal.feed(piece) for piece in pieces)
    assert out == shown(text)
    assert shown(out) == out
    joiners = "\u200c\u200d"
    assert not [
        c
        for c in out
        if c not in "\n\t" + joiners and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
    ]
    assert not set(out) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\U000e0041\x9b")


@given(st.text(st.characters(exclude_characters="<")))
def test_a_question_loses_nothing(text: str) -> None:
    spelled = visible(text)
    assert all(
        c.isprintable() or c in "\n\t" or unicodedata.category(c) in UNKNOWN for c in spelled
    )
    assert re.sub(r"<U\+([0-9A-F]+)>", lambda match: chr(int(match[1], 16)), spelled) == text


def test_columns_and_cutting() -> None:
    assert [columns(t) for t in ("abc", "漢字", "e\u0301", "🎉")] == [3, 4, 1, 2]
    assert cut("short", 10) == "short"
    assert cut("a long line of words", 10) == "a long ..."
    assert cut("漢字漢字漢字", 10) == "漢字漢..."
