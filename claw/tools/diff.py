"""A unified diff of two contents, whatever their bytes, size and line ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from claw.tools.words import one_line

CONTEXT_LINES = 3
MOST_COMPARED = 10_000  # lines; above that comparing may take seconds
HUNK = re.compile(r"^@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def unified_diff(before: bytes | None, after: bytes, name: str) -> str:
    """The whole diff; None for `before` means that the file is new. "" when nothing changes.

    Bytes that aren't UTF-8 are shown as \\xNN. A CR is shown only where the line ends differ.
    """
    old, new = _lines(before or b""), _lines(after)
    if old and all(line.endswith("\r\n") for line in (*old, *new)):
        old, new = ([line[:-2] + "\n" for line in lines] for lines in (old, new))
    # Equal ends are set aside, since comparing whole files takes seconds where they are large.
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    skip = max(0, same - CONTEXT_LINES)
    end = _equal_at_end(old[same:], new[same:])
    keep = max(0, end - CONTEXT_LINES)
    old, new = old[skip : len(old) - keep], new[skip : len(new) - keep]
    name = one_line(name.lstrip("/"))
    names = ("/dev/null" if before is None else f"a/{name}", f"b/{name}")
    if max(len(old), len(new)) > MOST_COMPARED:
        found: Iterable[str] = _one_hunk(old, new, names)
    else:
        import difflib  # with what it needs 3 ms, which a run without edits needn't pay

        found = difflib.unified_diff(old, new, *names, n=CONTEXT_LINES)
    return "".join(_finished(_moved(line, skip)) for line in found)


def shortened(diff: str, most_lines: int = 60, most_chars: int = 4_000) -> str:
    """The start of a diff, and how much more there is."""
    lines, kept, size = diff.removesuffix("\n").split("\n"), 0, 0
    for line in lines[:most_lines]:
        size += len(line) + 1
        if size > most_chars:
            break
        kept += 1
    more = len(lines) - kept
    return "\n".join([*lines[:kept], *([f"[... {more} more lines of diff ...]"] if more else [])])


def _lines(data: bytes) -> list[str]:
    """With their ends. Only LF ends a line: `splitlines` would also split at form feeds."""
    text = data.decode("utf-8", "backslashreplace")
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _equal_at_end(old: list[str], new: list[str]) -> int:
    pairs = zip(reversed(old), reversed(new), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _one_hunk(old: list[str], new: list[str], names: tuple[str, str]) -> Iterator[str]:
    """All old lines out, all new lines in: true as well, and made in no time."""
    yield f"--- {names[0]}\n"
    yield f"+++ {names[1]}\n"
    yield f"@@ -{min(1, len(old))},{len(old)} +{min(1, len(new))},{len(new)} @@\n"
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)


def _moved(line: str, skipped: int) -> str:
    """A hunk's head with the lines counted that were set aside."""
    head = HUNK.match(line)
    if head is None or not skipped:
        return line
    old, old_size, new, new_size = head.groups(default="")
    return f"@@ -{int(old) + skipped}{old_size} +{int(new) + skipped}{new_size} @@\n"


def _finished(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
