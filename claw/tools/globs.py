"""Which files a listing or a search sees: globs as in ripgrep, and the folders nobody wants."""

from __future__ import annotations

import re

JUNK = (
    ".git",
    ".hg",
    ".svn",
    ".venv",
    "venv",
    "node_modules",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".DS_Store",
)
WILDCARDS = {
    "**/": "(?:.*/)?",
    "**": ".*",
    "*": "[^/]*",
    "?": "[^/]",
    "{": "(?:",
    ",": "|",
    "}": ")",
}
TOKEN = re.compile(r"(\*\*/|\*\*|[*?{,}])|\[([!^]?)(\]?[^\]]+)\]|(.)", re.DOTALL)


def glob_regex(glob: str) -> str:
    """A regex for whole paths with / between their parts, relative to the folder of the walk.

    `*` and `?` stay within a part, `**` goes over parts, `{a,b}` is either, `[a-z]` one of these.
    A glob without a / matches the last part at any depth. ValueError for one that is broken.
    """
    wanted = glob.removeprefix("./")
    regex = "" if "/" in wanted else "(?:.*/)?"
    depth = 0
    for wildcard, negated, characters, plain in TOKEN.findall(wanted.removeprefix("/")):
        if characters:
            inside = re.sub(r"([\\\[&~|])", r"\\\1", characters)
            regex += f"[{'^/' * bool(negated)}{inside}]"
        elif plain or (wildcard == "," and not depth):
            regex += re.escape(plain or wildcard)
        else:
            depth += (wildcard == "{") - (wildcard == "}")
            regex += WILDCARDS[wildcard]
    try:
        re.compile(regex)
    except re.error as error:
        raise ValueError(f"{glob!r} is no glob: {error}") from None
    return regex
