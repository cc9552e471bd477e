"""The second reader of a command line: plain words, plain quotes and joins, and nothing else."""

from __future__ import annotations

import re

from claw.policy.words import PLAIN_CHARACTER, QUIET_REDIRECT, Words

TOKEN = re.compile(
    r"(?P<blank>[ \t]+)"
    r"|(?P<join>\n|;(?!&)|&&|\|\|?)"  # ;& is a sign of its own
    rf"|(?P<quiet>(?:{QUIET_REDIRECT.pattern})(?![^ \t\n;|&]))"
    rf"""|(?P<word>(?:{PLAIN_CHARACTER}|'[^']*'|"[^"$`\\]*")+)"""
)
QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")


def plain_commands(text: str) -> tuple[Words, ...] | None:
    """The commands of a plain line; None for any other."""
    commands: list[list[str]] = [[]]
    redirects_alone = False
    place = 0
    while place < len(text):
        token = TOKEN.match(text, place)
        if token is None or (token["join"] and redirects_alone):
            return None
        place = token.end()
        if token["join"]:
            commands.append([])
        elif token["word"]:
            commands[-1].append(QUOTED.sub(lambda quote: quote[1] or quote[2] or "", token["word"]))
        redirects_alone = not commands[-1] and (redirects_alone or bool(token["quiet"]))
    return None if redirects_alone else tuple(tuple(words) for words in commands if words)
