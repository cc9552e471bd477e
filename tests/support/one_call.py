"""A program that does one thing with the file tools, for whoever watches its system calls.

    python -m tests.support.one_call FOLDER write|edit|undo

It says on standard output how that ended. The call stands between two look-ups of MARK, so that
its system calls can be told from those of the start.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from claw.tools.undo import undo_in
from tests.support.toolbox import Toolbox

MARK = "/one-call"


def main() -> None:
    root, what = Path(sys.argv[1]), sys.argv[2]
    box = Toolbox(root)
    log = undo_in(box.session.state("files"))
    edits = [{"old_text": "old", "new_text": "new"}]
    box.text("write_file", path="warm", content="old\n")  # all that is imported late is now there
    box.text("edit_file", path="warm", edits=edits)
    log.undo_turn()
    if what == "undo":
        box.text("write_file", path="a", content="new\n")
    os.path.lexists(MARK)
    if what == "write":
        said = box.call("write_file", path="a", content="new\n").content
    elif what == "edit":
        said = box.call("edit_file", path="a", edits=edits).content
    else:
        said = "\n".join(log.undo_turn())
    os.path.lexists(MARK)
    sys.stdout.write(said)
    sys.stdout.flush()
    box.close()


if __name__ == "__main__":
    main()
