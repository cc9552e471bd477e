"""What a terminal may be sent: questions show hidden characters, model text loses them.

Text of a model, a tool or a file is hostile until shown otherwise. An escape sequence writes the
clipboard (OSC 52), moves the cursor over what was said, or makes the terminal type an answer;
bidi, zero-width and tag characters hide words from the reader. A question must show them, since
they are part of what will run. Everywhere else they go, and with them the whole sequence that an
escape character begins.
"""

from __future__ import annotations

import re
import unicodedata

HIDDEN_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
VARIATION_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
UNSEEN_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")

# Left alone on a terminal: joiners and selectors (200C, 200D, FE00-FE0F), which emoji and several
# scripts need and which cannot reorder or hide a word.
HOSTILE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
)

PLAIN = re.compile(f"[^{HOSTILE}]+")

# The kinds of sequences: what begins one, what it is made of, what ends it.
STRING_OPENERS = "\x90\x98\x9d\x9e\x9f"
OPENERS = {"\x1b": "escape", "\x9b": "control"} | dict.fromkeys(STRING_OPENERS, "string")
AFTER_ESCAPE = {"[": "control"} | dict.fromkeys("]PX^_", "string") | dict.fromkeys("NO", "shift")
MIDDLE = {
    "escape": re.compile(r"[ -/]*"),
    "control": re.compile(r"[ -?]*"),
    "string": re.compile(r"[^\x07\x18\x1a\x1b\x9c\n]*"),
    "shift": re.compile(r""),
}
LAST = {
    "escape": re.compile(r"[0-~]"),
    "control": re.compile(r"[@-~]"),
    "string": re.compile(r"[\x07\x18\x1a\x9c]"),
    "shift": re.compile(r"[ -~]"),
}

MAYBE_UNSEEN = re.compile(rf"[^\n\t\x20-\x7e]|[{HIDDEN_LETTERS}]")


def visible(text: str) -> str:
    """`text` with each character that can't be seen as `<U+202E>`; newline and tab stay."""
    return MAYBE_UNSEEN.sub(lambda match: _spelled(match[0]), text)


def _spelled(character: str) -> str:
    unseen = (
        unicodedata.category(character) in UNSEEN_CATEGORIES
        or character in HIDDEN_LETTERS
        or _is_selector(character)
        or (character.isspace() and character != " ")  # a blank that isn't a blank
    )
    return f"<U+{ord(character):04X}>" if unseen else character


def _is_selector(character: str) -> bool:
    return re.match(f"[{VARIATION_SELECTORS}]", character) is not None


class TerminalFilter:
    """Lets printable text, tab and newline through; escape sequences go as a whole.

    Keeps its state over the pieces that `feed` is given, since a sequence may be cut anywhere. A
    string sequence (OSC, DCS, APC) that is never ended hides the rest of its line, no more.
    """

    def __init__(self) -> None:
        self._inside = ""

    def feed(self, text: str) -> str:
        """What of `text` may be shown."""
        if not self._inside and PLAIN.fullmatch(text):
            return text
        shown: list[str] = []
        position = 0
        while position < len(text):
            if self._inside:
                position = self._skip(text, position)
                continue
            plain = PLAIN.match(text, position)
            if plain:
                shown.append(plain[0])
                position = plain.end()
            else:
                self._inside = OPENERS.get(text[position], "")
                shown.append("\ufffd" if "\ud800" <= text[position] <= "\udfff" else "")
                position += 1
        return "".join(shown)

    def _skip(self, text: str, position: int) -> int:
        """Past what belongs to the sequence. A character that breaks it off isn't passed."""
        inside = self._inside
        middle = MIDDLE[inside].match(text, position)
        position = middle.end() if middle else position
        if position == len(text):
            return position
        if LAST[inside].match(text, position) is None:
            self._inside = ""
            return position
        self._inside = AFTER_ESCAPE.get(text[position], "") if inside == "escape" else ""
        return position + 1


def shown(text: str) -> str:
    """A whole text as a terminal may be sent it."""
    return TerminalFilter().feed(text)
