"""What a terminal may be sent: questions show hidden characters, model text loses them.

Text of a model, a tool or a file is hostile until shown otherwise. An escape sequence writes the
clipboard (OSC 52), moves the cursor over what was said, or makes the terminal type an answer;
bidi, zero-width and tag characters hide words from the reader. A question must show them, since
they are part of what will run. Everywhere else they go, and with them the whole sequence that an
escape character begins.
"""

from __future__ import annotations

import re
from collections import deque

from claw.unseen import has_unseen

# Left alone on a terminal: joiners and selectors (200C, 200D, FE00-FE0F), which emoji and several
# scripts need and which cannot reorder or hide a word.
HOSTILE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff0-\ufffb\U0001d159\U000e0000-\U000e0fff"
)
SURROGATE = re.compile("[\ud800-\udfff]")

# What sequences are made of. A character that doesn't fit breaks one off and isn't part of it.
STRING_OPENERS = "\x90\x98\x9d\x9e\x9f"
INTERMEDIATES = "[ -/]*+"
CONTROL = "[ -?]*+"
STRING = "[^\x07\x18\x1a\x1b\x9c\n]*+"
# A hostile character and what it begins, ended or not. `[HOSTILE]` stands first and alone, so that
# the search runs through plain text; nothing here backtracks, so the time is linear.
UNWANTED = re.compile(
    f"[{HOSTILE}](?:"
    rf"(?<=\x1b){INTERMEDIATES}(?:\[{CONTROL}[@-~]?|[\]PX^_]{STRING}[\x07\x18\x1a\x9c]?"
    r"|[NO][ -~]?|[0-~])?"
    f"|(?<=\x9b){CONTROL}[@-~]?"
    f"|(?<=[{STRING_OPENERS}]){STRING}[\x07\x18\x1a\x9c]?"
    ")?"
)
# What may go on in the next piece, and the short opener that stands for all of it there.
UNFINISHED = {
    "\x1b": re.compile(rf"\x1b{INTERMEDIATES}"),
    "\x9b": re.compile(rf"(?:\x1b{INTERMEDIATES}\[|\x9b){CONTROL}"),
    "\x9d": re.compile(rf"(?:\x1b{INTERMEDIATES}[\]PX^_]|[{STRING_OPENERS}]){STRING}"),
    "\x1bN": re.compile(rf"\x1b{INTERMEDIATES}[NO]"),
}

NOT_PLAIN = re.compile(r"[^\n\t\x20-\x7e]")


def visible(text: str) -> str:
    """`text` with each character that can't be seen as `<U+202E>`; newline and tab stay."""
    return NOT_PLAIN.sub(lambda match: _spelled(match[0]), text)


def _spelled(character: str) -> str:
    return f"<U+{ord(character):04X}>" if has_unseen(character) else character


class TerminalFilter:
    """Lets printable text, tab and newline through; escape sequences go as a whole.

    Keeps its state over the pieces that `feed` is given, since a sequence may be cut anywhere. A
    string sequence (OSC, DCS, APC) that is never ended hides the rest of its line, no more.
    """

    def __init__(self) -> None:
        self._unfinished = ""

    def feed(self, text: str) -> str:
        """What of `text` may be shown."""
        if not text.isascii():
            text = SURROGATE.sub("\ufffd", text)
        text = self._unfinished + text
        pieces = UNWANTED.split(text)
        self._unfinished = "" if pieces[-1] else _unfinished_end(text)
        return "".join(pieces)


def _unfinished_end(text: str) -> str:
    """The opener of the sequence that `text` ends in the middle of; "" where there is none."""
    found = deque(UNWANTED.finditer(text), maxlen=1)  # linear, as a search for the end isn't
    last = found[0][0] if found and found[0].end() == len(text) else ""
    return next((opener for opener, form in UNFINISHED.items() if form.fullmatch(last)), "")


def shown(text: str) -> str:
    """A whole text as a terminal may be sent it."""
    return TerminalFilter().feed(text)
