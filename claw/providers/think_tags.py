"""<think>...</think> at the beginning of a text, told apart from the answer. Sans-io.

Only for servers of which it is known (a quirk): a model that writes about such tags means them as
text. For the same reason a tag counts only where the reply begins, and only the first pair.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

OPEN, CLOSE = "<think>", "</think>"
BLANK = " \t\r\n"


class Place(Enum):
    """Where in a reply a piece stands."""

    START = "start"
    THINKING = "thinking"
    AFTER = "after"  # between the end of the thinking and the first word of the answer
    ANSWER = "answer"


Piece: TypeAlias = tuple[str, str]


class ThinkTags:
    """Splits one reply. `feed` and `flush` return (thinking, answer): what is sure by then.

    opened: the first tag stands in the prompt, so the reply begins within it, or repeats it.
    """

    def __init__(self, *, opened: bool = False) -> None:
        self._place = Place.START
        self._without_tag = Place.THINKING if opened else Place.ANSWER
        self._held = ""  # may be part of a tag, or blanks that a tag would swallow
        self._thought = False  # something of the thinking was given

    def feed(self, text: str) -> Piece:
        """Takes the next piece of the text."""
        if self._place is Place.ANSWER:
            return "", text
        text, self._held = self._held + text, ""
        thinking = ""
        if self._place is Place.START:
            text = self._begin(text)
        if self._place is Place.THINKING:
            thinking, text = self._think(text)
        if self._place is Place.AFTER:
            text = text.lstrip(BLANK)
            if text:
                self._place = Place.ANSWER
        return thinking, text

    def flush(self) -> Piece:
        """The reply is at its end: what was held is no tag."""
        held, self._held = self._held, ""
        if held and self._place is Place.START:
            self._place = self._without_tag
        return (held, "") if self._place is Place.THINKING else ("", held)

    def _begin(self, text: str) -> str:
        """What follows the first tag; the text itself where there is none."""
        words = text.lstrip(BLANK)
        if words.startswith(OPEN):
            self._place = Place.THINKING
            return words.removeprefix(OPEN)
        if OPEN.startswith(words):
            self._held = text
            return ""
        self._place = self._without_tag
        return text

    def _think(self, text: str) -> Piece:
        """Up to the end tag; what may be the beginning of one is held."""
        if not self._thought:
            text = text.lstrip(BLANK)
        thinking, tag, rest = text.partition(CLOSE)
        if tag:
            self._place = Place.AFTER
        else:
            self._held = _beginning_of_tag(thinking)
            thinking = thinking.removesuffix(self._held)
        self._thought = self._thought or bool(thinking)
        return thinking, rest


def _beginning_of_tag(text: str) -> str:
    """The longest end of `text` with which the end tag may begin."""
    for length in range(min(len(text), len(CLOSE) - 1), 0, -1):
        if CLOSE.startswith(text[-length:]):
            return text[-length:]
    return ""
