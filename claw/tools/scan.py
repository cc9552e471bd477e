"""A search in files that runs as a program of its own, where there is no ripgrep.

Nobody can interrupt `re`: it holds the interpreter's lock, and a pattern like `(a+)+$` stops every
thread for hours. So search.py has a child process run this text, which can be killed. It imports
the standard library alone, and writes as `rg --null` does: path, NUL, line number, colon, text.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from io import BufferedReader, FileIO

LARGEST_FILE = 100_000_000
LOOKED_AT_BYTES = 65_536
READING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC


def lines_matching(path: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, bytes]]:
    """The matching lines of a text file with their numbers; none for anything else."""
    try:
        with BufferedReader(FileIO(os.open(path, READING)), LOOKED_AT_BYTES) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
                return
            if b"\0" in file.peek(LOOKED_AT_BYTES):
                return
            for number, line in enumerate(file, start=1):
                text = line.rstrip(b"\r\n")
                if pattern.search(text.decode("utf-8", "replace")):
                    yield number, text
    except OSError:
        return


def main() -> int:
    """Searches files: the first argument is the pattern, as JSON, the others are their paths."""
    try:
        pattern = re.compile(json.loads(sys.argv[1]))
    except (re.error, OverflowError) as error:
        sys.stdout.write(f"pattern is no regular expression: {error}\n")  # read by search.py
        return 2
    for path in sys.argv[2:]:
        for number, text in lines_matching(path, pattern):
            sys.stdout.buffer.write(b"%b\0%d:%b\n" % (os.fsencode(path), number, text))
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
