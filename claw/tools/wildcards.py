"""Wildcards as regular expressions that can't be made to run for ever.

`re` holds the interpreter's lock and tries every split of a text between two `*`: a pattern like
`*a*a*a*a*a*b`, in a .gitignore that somebody else wrote, would stop the whole program. But of the
places where the text between two wildcards fits, the first is always as good as any other. So
each is taken for good (an atomic group), and only the last wildcard tries more than one.
"""

from __future__ import annotations

import re

POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
FOLDER = "(?:[^/]++/)"
ANY_FOLDERS = f"{FOLDER}*"
# What stands inside of [ ]: a class by name, a range, or one character, each maybe escaped.
IN_CLASS = re.compile(r"\[:(\w+):\]|(\\.|[^\\])-(\\.|[^\\\]])|(\\.|[^\\])", re.DOTALL)
TOKEN = re.compile(r"(\*+)|(\?)|\[([!^]?)((?:\[:\w+:\]|\\.|[^\\])+?)\]|\\(.)|(.)", re.DOTALL)


def name_regex(pattern: str) -> str:
    """For one part of a path, without a slash: `*`, `?`, `[a-z]`, `[!a]`, and `\\` to escape.

    ValueError for a pattern that can match nothing, such as an unclosed bracket.
    """
    chunks = [""]
    for token in TOKEN.finditer(_with_first_bracket_escaped(pattern)):
        stars, any_one, negated, inside, escaped, plain = token.groups()
        if stars:
            chunks.append("")
        elif any_one:
            chunks[-1] += "[^/]"
        elif inside is not None:
            chunks[-1] += _class_regex(inside, negated=bool(negated))
        elif plain in ("[", "\\"):
            raise ValueError(f"{pattern!r} has an unclosed [ or ends with a backslash")
        else:
            chunks[-1] += re.escape(escaped or plain)
    return _first_fits(chunks, "[^/]")


def path_regex(pattern: str) -> str:
    """For a whole path: parts as in `name_regex`, and `**` for any number of parts."""
    chunks: list[list[str]] = [[]]
    for part in pattern.split("/"):
        if part != "**":
            chunks[-1].append(name_regex(part))
        elif len(chunks) == 1 or chunks[-1]:  # of several ** in a row one counts
            chunks.append([])
    *before, last = ["/".join(chunk) for chunk in chunks]
    if not last:  # everything below
        last = "[^/].*"
    return _first_fits([*(f"{chunk}/" if chunk else "" for chunk in before), last], FOLDER)


def _first_fits(chunks: list[str], anything: str) -> str:
    """The chunks in order, with any number of `anything` between them."""
    first, *rest = chunks
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>{anything}*?{chunk})" for chunk in middle) + f"{anything}*{last}"


def _with_first_bracket_escaped(pattern: str) -> str:
    """`[]a]` and `[!]a]` as `[\\]a]`: right behind the opening a bracket is an ordinary one."""
    return re.sub(r"(\\.)|(\[[!^]?)\]", lambda found: found[1] or f"{found[2]}\\]", pattern)


def _class_regex(inside: str, negated: bool) -> str:
    kept = ""
    for name, low, high, single in IN_CLASS.findall(inside):
        if name:
            if name not in POSIX:
                raise ValueError(f"[:{name}:] is no class of characters")
            kept += POSIX[name]
        elif single:
            kept += re.escape(single[-1])
        elif low[-1] <= high[-1]:  # the other way round it holds nothing
            kept += f"{re.escape(low[-1])}-{re.escape(high[-1])}"
    if negated:
        return f"[^/{kept}]"
    return f"(?!/)[{kept}]" if kept else "(?!)"
