"""What can't be seen is the same to the policy, which asks, and to the question, which shows it."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from claw.cli.visible import visible
from claw.policy.command_line import parse
from claw.unseen import has_unseen

UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")


def test_whole_categories_of_characters_cannot_be_seen() -> None:
    for character in map(chr, range(sys.maxunicode + 1)):
        blank = character.isspace() and character != " "
        if blank or unicodedata.category(character) in UNSEEN:
            assert has_unseen(character), f"U+{ord(character):04X}"


# Default_Ignorable_Code_Point of Unicode 16, from DerivedCoreProperties.txt.
IGNORABLE = (
    "ad-ad 34f-34f 61c-61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164-3164 "
    "fe00-fe0f feff-feff ffa0-ffa0 fff0-fff8 1bca0-1bca3 1d173-1d17a e0000-e0fff"
)


def test_what_unicode_says_to_ignore_cannot_be_seen() -> None:
    for ends in IGNORABLE.split():
        first, last = (int(end, 16) for end in ends.split("-"))
        for character in map(chr, range(first, last + 1)):
            assert has_unseen(character), f"U+{ord(character):04X}"
            assert visible(f"a{character}b") == f"a<U+{ord(character):04X}>b"
    assert has_unseen("\U0001d159")  # a notehead that shows nothing


def test_what_is_written_in_the_world_can_be_seen() -> None:
    assert not has_unseen("plain text, naïve, Ωμέγα, 漢字 日本語, e\u0301 🎉 — „so“")


@pytest.mark.parametrize("character", "\r\x1b\xa0\xad\u115f\u200b\u202e\u3164\ue000\ufe0f\ufeff")
def test_the_policy_asks_about_what_the_question_spells(character: str) -> None:
    assert parse(f"echo 'x{character}'").doubt == "a character that can't be seen"
    assert visible(character) == f"<U+{ord(character):04X}>"
