"""The walk over a folder, and a search in it that runs as a program of its own.

Nobody can interrupt `re`: it holds the interpreter's lock, and a pattern like `(a+)+$` stops every
thread for hours. So where there is no ripgrep, search.py runs this file with the same Python as
a child process, which can be killed. It imports the standard library alone, and writes as
`rg --null` does: path, NUL, line number, colon, text.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator

LARGEST_FILE = 100_000_000
LOOKED_AT_BYTES = 8_192


def walk(folder: str, leave_out: Collection[str]) -> Iterator[str]:
    """The files under `folder` by path, relative to it and sorted; links aren't followed.

    Names in `leave_out` are passed over, and so is what can't be looked into.
    """
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return
    for entry in entries:
        if entry.name in leave_out:
            continue
        if entry.is_dir(follow_symlinks=False):
            for path in walk(entry.path, leave_out):
                yield f"{entry.name}/{path}"
        else:
            yield entry.name


def lines_matching(path: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, bytes]]:
    """The matching lines of a text file with their numbers; none for anything else."""
    try:
        if os.path.islink(path) or not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            too_large = os.fstat(file.fileno()).st_size > LARGEST_FILE
            if too_large or b"\0" in file.peek(LOOKED_AT_BYTES):
                return
            for number, line in enumerate(file, start=1):
                text = line.rstrip(b"\r\n")
                if pattern.search(text.decode("utf-8", "replace")):
                    yield number, text
    except OSError:
        return


def main() -> int:
    """Searches below the working folder as its one argument says.

    That is JSON: pattern, target (a folder or a file), glob (a regex for paths), leave_out.
    """
    wanted = json.loads(sys.argv[1])
    try:
        pattern = re.compile(wanted["pattern"])
    except (re.error, OverflowError) as error:
        sys.stdout.write(f"pattern is no regular expression: {error}\n")  # read by search.py
        return 2
    paths: Iterable[str] = [wanted["target"]]
    if os.path.isdir(wanted["target"]):
        glob = re.compile(wanted["glob"], re.DOTALL)
        paths = filter(glob.fullmatch, walk(wanted["target"], wanted["leave_out"]))
    for path in paths:
        for number, text in lines_matching(path, pattern):
            sys.stdout.buffer.write(b"%b\0%d:%b\n" % (os.fsencode(path), number, text))
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
