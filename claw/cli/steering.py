"""Steering: what the user types during a turn becomes the next message, at the next step.

No thread reads the terminal: it keeps whole lines by itself until the engine asks, between two
steps. What isn't a message (a slash command, a `!` line, a line without its Enter) stays where it
is, with all that was typed behind it, and waits for the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from claw.cli.columns import cut
from claw.cli.slash import is_command
from claw.cli.terminal import Terminal
from claw.cli.visible import shown
from claw.reporter import Reporter
from claw.session import Session

SHOWN_COLUMNS = 200
WHOLE_INPUT = re.compile(r"(?:[^\n\x03]*\\\n)*(?:[^\n\x03]*[^\n\x03\\])?\n")
"""Lines up to one that doesn't end in a backslash, and its Enter."""


class Steering:
    """The engine's `steering` in a conversation on `terminal`; `reporter` shows what is taken.
    On the main thread, as the engine calls it."""

    def __init__(self, terminal: Terminal, reporter: Reporter) -> None:
        self._terminal = terminal
        self._reporter = reporter
        self._taken: Sequence[str] = ()

    def __call__(self) -> Sequence[str]:
        """The messages typed since the last time, each shown as queued."""
        self._taken, rest = messages_in(self._terminal.take_keys())
        self._terminal.set_aside(rest)
        for message in self._taken:
            line = cut(" ".join(message.split()), SHOWN_COLUMNS)
            self._reporter.on_notice(f"queued: {line}")
        self._reporter.flush()
        return self._taken

    def give_back(self, session: Session, *, cancelled: bool) -> str:
        """After a turn: what its user gets back into the prompt, "" for nothing.

        That is what was taken and not answered, which leaves the conversation. With it, or after
        a cancel, also all else that was typed: it was meant for what went on, and isn't sent by
        itself any more.
        """
        unanswered, self._taken = self._unanswered(session), ()
        if not (unanswered or cancelled):
            return ""
        if unanswered:
            session.rewind(len(session.messages) - len(unanswered))
        return shown("\n".join([*unanswered, self._terminal.take_keys()])).rstrip("\n")

    def _unanswered(self, session: Session) -> Sequence[str]:
        """What was taken last, where the conversation ends with it."""
        end = session.messages[len(session.messages) - len(self._taken) :]
        same = [message.text for message in end if message.role == "user"] == list(self._taken)
        return self._taken if same else ()


def messages_in(keys: str) -> tuple[list[str], str]:
    """(whole inputs that are messages, the keys from the first one on that isn't)."""
    messages: list[str] = []
    while whole := WHOLE_INPUT.match(keys):
        text = shown(whole[0][:-1].replace("\\\n", "\n"))
        if is_command(text) or text.lstrip().startswith("!"):
            break
        if text.strip():
            messages.append(text)
        keys = keys[whole.end() :]
    return messages, keys
