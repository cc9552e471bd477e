"""`claw replay`: a tape played and compared; `--replay`: a tape in place of the server."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from claw.cancel import CancelToken
from claw.cli import failures
from claw.cli.config import UserConfig
from claw.cli.output import StandardOutput, output_for
from claw.cli.reporting import reporter_for
from claw.cli.settings import Flags
from claw.cli.terminal import Terminal
from claw.cli.turn import turn
from claw.errors import ConfigError
from claw.reporter import Tee
from claw.tape import Tape, Verdict, read_tape
from claw.tape import replay as play
from claw.tape.provider import NOWHERE

DIFFERS = 1
SERVER_VARIABLES = ("CLAW_PROVIDER", "CLAW_BASE_URL", "CLAW_MODEL", "CLAW_API_KEY")


def replay_tape(flags: Flags, file: str, *, original_timing: bool) -> int:
    """Plays the tape as `claw run` would have told it; returns the exit code: 0 where all came
    out as it is on the tape, else 1, with the first difference on standard error."""
    tape = opened(file)
    token, terminal = CancelToken(), Terminal.of_process()
    stdout = StandardOutput(sys.stdout.fileno(), token, sys.stdout.encoding)
    display = reporter_for(
        sys.stderr,
        show_text=False,
        color=not flags.no_color,
        quiet=flags.quiet,
        verbose=flags.verbose,
    )
    reporter = Tee(display, output_for(flags.output, stdout))
    try:
        with turn(token, terminal) as ending:
            verdict = play(tape, original_timing=original_timing, reporter=reporter, cancel=token)
    finally:
        stdout.close()
    if stdout.failure is not None:
        return failures.OUTPUT_CLOSED
    if token.cancelled:
        failures.tell(failures.CANCEL_WORDS.get(token.reason or "", "cancelled"))
        return ending.exit_code or failures.CANCEL_EXITS["interrupt"]
    return _tell(verdict, tape, quiet=flags.quiet)


def opened(file: str) -> Tape:
    """The tape in `file`. ConfigError where there is nothing to play."""
    tape = read_tape(Path(file).expanduser())
    if not tape.runs:
        raise ConfigError(f"{file} holds no run: nothing was asked while it was recorded")
    return tape


def _tell(verdict: Verdict, tape: Tape, *, quiet: bool) -> int:
    damage = tape.damage - tape.cut_off
    if damage:
        failures.tell(f"{_counted(damage, 'line')} of the tape can't be read and count no more")
    if verdict.difference:
        failures.tell(f"the replay differs from the tape in {verdict.difference}")
        return DIFFERS
    if verdict.cut:
        failures.tell("the tape ends before its run did: it was replayed as far as it goes")
    if not quiet:
        runs, events = _counted(verdict.runs, "run"), _counted(verdict.events, "event")
        failures.tell(f"the replay is identical: {runs}, {events}")
    return 0


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def without_server(
    tape: Tape, flags: Flags, environ: Mapping[str, str], config: UserConfig
) -> tuple[Flags, Mapping[str, str], UserConfig]:
    """Flags, environment and config that name no server, no key and no fallback: the tape answers
    in the name of its model."""
    model = tape.header.model or "tape"
    return (
        replace(flags, provider="", base_url=NOWHERE, model=model, fallback=(), stay_local=True),
        {name: value for name, value in environ.items() if name not in SERVER_VARIABLES},
        replace(config, provider="", base_url="", model="", key_command="", fallback=()),
    )
