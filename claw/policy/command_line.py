"""A shell command line: which commands it runs, and what leaves a doubt about that.

Checks of command lines by their text fail again and again: a quote, a newline or a substitution
that the check reads in another way than the shell does is a way around it. So two readers must
agree before a line counts as plain: bash's grammar, which names everything that is in the line,
and one that knows plain words, plain quotes and joins alone, for which bash has no other meaning.
A line with a doubt is still read, so that a rule that forbids sees what is inside of it.
"""

from __future__ import annotations

from claw.policy.grammar import read_by_grammar
from claw.policy.plain_line import plain_commands
from claw.policy.words import KEYWORDS, UNKNOWN, Words
from claw.unseen import has_unseen
from claw.values import frozen

TOO_LONG = "a line too long or too tangled to be read"
UNSEEN = "a character that can't be seen"


@frozen
class CommandLine:
    """What a line runs.

    commands: every simple command found in it, in constructs too, as its words without quotes;
    UNKNOWN for words that only the shell knows. doubt: "" when the line is nothing but plain words,
    plain quoted text, redirects to nowhere and the joins `&&`, `||`, `;`, `|` and newline, and
    `commands` is then exactly what bash runs; else the first thing that isn't, in words for
    people. whole: False when it was too long to look for the commands.
    """

    commands: tuple[Words, ...]
    doubt: str = ""
    whole: bool = True


def parse(text: str) -> CommandLine:
    """Reads a command line: pure but for a time limit, past which a line isn't `whole`. Never
    raises."""
    found = read_by_grammar(text)
    if found is None:
        return CommandLine(((UNKNOWN,),), TOO_LONG, whole=False)
    commands, doubt = found
    doubt = _unseen(text) or doubt or _disagreement(text, commands)
    if doubt and "\\\n" in text:
        # The grammar ends a word at the end of its line, the shell goes on.
        joined = read_by_grammar(text.replace("\\\n", ""))
        commands += joined[0] if joined else ((UNKNOWN,),)
    return CommandLine(commands, doubt)


def _unseen(text: str) -> str:
    """Control, bidi and zero-width characters, which a question couldn't show as they are."""
    return UNSEEN if has_unseen(text.replace("\n", "").replace("\t", "")) else ""


def _disagreement(text: str, commands: tuple[Words, ...]) -> str:
    """Why a line in which the grammar found only harmless parts is still not plain."""
    if not commands:
        return "nothing that runs"
    for words in commands:
        if words[0] in KEYWORDS:
            return f"the shell keyword {words[0]}"
        if "=" in words[0]:
            return "an assignment"
        if words[0].startswith("%"):
            return "a job"
    if plain_commands(text) == commands:
        return ""
    return "a backslash" if "\\\n" in text else "text that can be read in two ways"
