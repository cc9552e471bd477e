"""What questions show of hidden characters, and what a terminal is sent of hostile text."""

from __future__ import annotations

import random
import re
import sys
import time
import unicodedata
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.cli.columns import columns, cut
from claw.cli.visible import TerminalFilter, shown, visible
from tests.support.harmless import is_harmless

ESC = "\x1b"

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
    "for private use": ("x\ue000", "x<U+E000>"),
    "to be ignored, unassigned": ("\u2065\ufff0\ufff8", "<U+2065><U+FFF0><U+FFF8>"),
    "tags, unassigned": (
        "\U000e0002\U000e0080\U000e0fff",
        "<U+E0002><U+E0080><U+E0FFF>",
    ),
    "null notehead": ("x\U0001d159", "x<U+1D159>"),
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


PARTS = [
    f"{ESC}[",
    f"{ESC}]",
    f"{ESC}P",
    f"{ESC}N",
    ESC,
    "\x9b",
    "\x9d",
    "\x90",
    "\x9c",
    "\x07",
    "\x18",
]
PARTS += ["\\", "m", "]", "[", "(", ";", "1", "text", "é", "\n", "\t", "\r", "\x08", "\x7f", "\0"]
PARTS += ["\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\ud800", "漢", "👩\u200d🚀"]


def hostile_strings(count: int) -> list[str]:
    chance = random.Random(4)
    made = ["".join(chance.choices(PARTS, k=chance.randint(2, 12))) for _ in range(count)]
    return [*SEQUENCES.values(), *made][:count]


def test_two_hundred_hostile_strings_in_all_cuttings() -> None:
    for text in hostile_strings(200):
        check_all_cuttings(text)


def check_all_cuttings(text: str) -> None:
    whole = shown(text)
    assert is_harmless(whole)
    assert shown(whole) == whole
    for first, second in product(range(len(text) + 1), repeat=2):
        terminal = TerminalFilter()
        pieces = [text[:first], text[first : max(first, second)], text[max(first, second) :]]
        assert "".join(terminal.feed(piece) for piece in pieces) == whole
    terminal = TerminalFilter()
    assert "".join(terminal.feed(character) for character in text) == whole


def test_every_character_and_every_pair_of_bytes() -> None:
    printable = []
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert is_harmless(shown(character))
        else:
            printable.append(character)
    lost = set(printable) - set(shown("".join(printable)))
    unseen = {*map(chr, range(0xFFF0, 0xFFF9)), "\u2065", "\U0001d159"}
    assert all(c in unseen or "\U000e0000" <= c <= "\U000e0fff" for c in lost)
    for first, second in product(range(256), repeat=2):
        assert is_harmless(shown(bytes([first, second, 65, 10]).decode("latin-1")))


def test_ordinary_text_with_some_colour_passes_at_20_megabytes_a_second() -> None:
    line = "the engine reads a line of output, naïve 漢字, and says: def run(self) -> None:\n"
    text = "".join(
        f"{ESC}[01;32m{line[:20]}{ESC}[0m{line[20:]}" if number % 4 == 0 else line
        for number in range(50_000)
    )
    pieces = [text[at : at + 4096] for at in range(0, len(text), 4096)]
    rates = []
    for _ in range(3):
        terminal, began = TerminalFilter(), time.perf_counter()
        for piece in pieces:
            terminal.feed(piece)
        rates.append(len(text.encode()) / (time.perf_counter() - began))
    assert max(rates) > 20_000_000


@pytest.mark.parametrize(
    "text",
    [
        "\x9d" * 300_000 + "\x07",
        ESC * 300_000,
        f"{ESC}]" * 150_000,
        "\x9b1" * 150_000,
        f"{ESC}(" * 150_000,
    ],
    ids=["strings", "escapes", "openers", "controls", "intermediates"],
)
def test_no_text_takes_more_than_its_length(text: str) -> None:
    began = time.perf_counter()
    assert shown(text) == ""
    assert time.perf_counter() - began < 2


def hostile() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(PARTS) | st.text(max_size=3)).map("".join)


@given(hostile(), st.lists(st.integers(min_value=0, max_value=200), max_size=5))
def test_nothing_but_printable_text_gets_through(text: str, cuts: list[int]) -> None:
    terminal, places = TerminalFilter(), [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    out = "".join(terminal.feed(piece) for piece in pieces)
    assert out == shown(text)
    assert shown(out) == out
    assert is_harmless(out)


@given(st.text(st.characters(exclude_characters="<")))
def test_a_question_loses_nothing(text: str) -> None:
    spelled = visible(text)
    assert all(c.isprintable() or c in "\n\t" for c in spelled)
    assert re.sub(r"<U\+([0-9A-F]+)>", lambda match: chr(int(match[1], 16)), spelled) == text


def test_columns_and_cutting() -> None:
    assert [columns(t) for t in ("abc", "漢字", "e\u0301", "🎉")] == [3, 4, 1, 2]
    assert cut("short", 10) == "short"
    assert cut("a long line of words", 10) == "a long ..."
    assert cut("漢字漢字漢字", 10) == "漢字漢..."
