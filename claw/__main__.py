"""`python -m claw`: the command, where its script isn't on the path."""

from claw.cli.main import main

main()
