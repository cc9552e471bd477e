"""Which files a listing or a search sees: globs, and the folders nobody wants."""

from __future__ import annotations

import re
from itertools import pairwise

from claw.tools.wildcards import ANY_FOLDERS, name_regex, path_regex

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
MOST_ALTERNATIVES = 100
BRACE = re.compile(r"\\.|\[[!^]?\]?(?:\\.|[^\]\\])*\]|([{},])", re.DOTALL)


def glob_regex(glob: str) -> str:
    """A regex for whole paths with / between their parts, relative to the folder of the walk.

    `*` and `?` stay within a part, `**` goes over parts, `{a,b}` is either, `[a-z]` one of these.
    A glob without a / matches the last part at any depth, one that ends in / all below a folder.
    ValueError for one that is broken.
    """
    try:
        regexes = [_one_regex(each) for each in _alternatives(glob)]
    except ValueError as error:
        raise ValueError(f"{glob!r} is no glob: {error}") from None
    return "|".join(f"(?:{regex})" for regex in regexes)


def _one_regex(glob: str) -> str:
    wanted = glob.removeprefix("./")
    if "/" not in wanted:
        return f"{ANY_FOLDERS}{name_regex(wanted)}"
    return path_regex(f"{wanted}**" if wanted.endswith("/") else wanted.removeprefix("/"))


def _alternatives(glob: str) -> list[str]:
    """`a{b,c}` as `ab` and `ac`, braces in braces too."""
    depth, start, cuts = 0, 0, []
    for found in BRACE.finditer(glob):
        brace, at = found[1], found.start()
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            raise ValueError("a } without its {")
        if brace == "{" and depth == 1:
            start, cuts = at, [at]
        elif brace == "," and depth == 1:
            cuts.append(at)
        elif brace == "}" and depth == 0:
            return _expanded(glob[:start], glob, [*cuts, at])
    if depth:
        raise ValueError("a { without its }")
    return [glob]


def _expanded(before: str, glob: str, cuts: list[int]) -> list[str]:
    inner = [glob[one + 1 : other] for one, other in pairwise(cuts)]
    heads = [f"{before}{each}" for part in inner for each in _alternatives(part)]
    tails = _alternatives(glob[cuts[-1] + 1 :])
    if len(heads) * len(tails) > MOST_ALTERNATIVES:
        raise ValueError(f"its braces stand for more than {MOST_ALTERNATIVES} globs")
    return [head + tail for head in heads for tail in tails]
