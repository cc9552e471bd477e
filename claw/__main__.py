"""`python -m claw`: the command, where its script isn't on the path."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the folder that it was started in, where a json.py may lie

from claw.cli.main import main

main()
