"""The REPL: a prompt, a turn, a prompt. Ctrl-C never costs more than the turn it was meant for."""

from __future__ import annotations

import sys
import termios
import time
from functools import partial

from claw.cancel import CancelToken
from claw.cli import failures
from claw.cli.ask import Asker
from claw.cli.interrupts import ENDING, EXIT_CTRL_C, EXIT_HANG_UP, ended_by_signals
from claw.cli.planning import planning_prompt
from claw.cli.prompt import best_prompt, continued
from claw.cli.reporting import reporter_for
from claw.cli.rich_terminal import painter_for
from claw.cli.sitting import Sitting, Work
from claw.cli.slash import is_command, run_command
from claw.cli.steering import Steering
from claw.cli.terminal import CTRL_C, Terminal
from claw.cli.turn import turn
from claw.cli.visible import shown
from claw.cli.workbench import Workbench
from claw.errors import ConfigError
from claw.events import RunResult
from claw.tools.state import FILES_FAMILY
from claw.tools.undo import undo_in

TWICE_S = 2.0


def run_repl(bench: Workbench, terminal: Terminal) -> int:
    """Runs until the user leaves and returns the exit code. On the main thread, in a terminal:
    the one where questions were asked before, so that what was typed ahead then isn't lost.

    0 for /exit and Ctrl-D, 130 for Ctrl-C twice at the prompt; TERM and HUP are 143 and 129.
    ConfigError where one of the standard streams is no terminal.
    """
    if not (terminal.can_ask and terminal.shows):
        raise ConfigError('a conversation needs a terminal: claw run "what to do" needs none')
    try:
        with ended_by_signals():
            code = Repl(bench, terminal).run()
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    except (OSError, termios.error):
        if not terminal.gone:
            raise
    finally:
        terminal.restore()
    if terminal.gone:  # whatever was noticed first: the signal, the end of input, a failed write
        terminal.abandon()
        return EXIT_HANG_UP
    return code


class Repl:
    """One sitting: an engine, a session, a prompt."""

    def __init__(self, bench: Workbench, terminal: Terminal) -> None:
        settings = bench.settings
        self._terminal = terminal
        history = bench.places.make_state() / bench.places.history_file.name
        self._prompt = best_prompt(history, terminal)
        paint = painter_for(sys.stderr, color=settings.color)
        asker = Asker(terminal, cwd=settings.cwd, settings=bench.policy, paint=paint)
        reporter = reporter_for(
            sys.stdout,
            show_text=True,
            color=settings.color,
            quiet=settings.quiet,
            verbose=settings.verbose,
        )
        engine = bench.new_engine(asker, reporter, on_repeat=asker.about_repeat)
        engine.steering = self._steering = Steering(terminal, reporter)
        self._sitting = Sitting(bench, engine, _say, asker)
        self._given_back = ""
        self._interrupted_at = 0.0

    def run(self) -> int:
        """The loop. SystemExit for TERM and HUP."""
        self._greet()
        while not self._sitting.over:
            try:
                self._terminal.hold()  # whatever a tool did to it
                line = continued(self._line)
                self._interrupted_at = 0.0
                if is_command(line):
                    line = self._command(line)
                if line.strip():
                    self._turn(partial(self._ask, line))
            except EOFError:
                break
            except KeyboardInterrupt:
                if self._second_interrupt():
                    return EXIT_CTRL_C
            except ConfigError as error:
                failures.tell(error.message)
        return 0

    def _command(self, line: str) -> str:
        """Runs a slash command, and what it leaves to do; returns what it asks the model."""
        sitting = self._sitting
        run_command(sitting, line)
        prompt, sitting.prompt = sitting.prompt, ""
        work, sitting.work = sitting.work, None
        self._given_back, sitting.given_back = self._given_back + sitting.given_back, ""
        if work is not None:
            self._turn(work)
        return prompt

    def _greet(self) -> None:
        bench, settings = self._sitting.bench, self._sitting.bench.settings
        for line in (*bench.notices, *bench.session.take_notices()):
            failures.tell(line)
        if not settings.quiet:
            _say(f"claw with {settings.model} in {settings.cwd}. /help says more.")
            _say(bench.sandbox.about())

    def _line(self, prompt: str) -> str:
        """What was typed ahead counts as typed: whole lines are entered, the rest is shown, behind
        what a turn gave back."""
        with self._prompt.modes():
            typed, key = self._terminal.take_typed_ahead()
            typed, self._given_back = self._given_back + typed, ""
            if not key:
                return self._prompt.read(prompt, typed)
        _say(prompt + typed)
        if key == CTRL_C:
            raise KeyboardInterrupt
        return typed

    def _turn(self, work: Work) -> None:
        bench = self._sitting.bench
        token = bench.new_token()
        try:
            with turn(token, self._terminal, kill=bench.kill_commands) as ending:
                if self._terminal.take_ctrl_c():  # typed before it could be a signal
                    token.cancel("interrupt")
                self._do(work, token)
        except KeyboardInterrupt:
            _say("\n[left at once: what was going on may end a moment later]")
            return
        finally:
            cancelled = token.reason == "interrupt"
            self._given_back = self._steering.give_back(bench.session, cancelled=cancelled)
        if ending.signal in ENDING:
            raise SystemExit(ending.exit_code)

    def _ask(self, prompt: str, token: CancelToken) -> RunResult:
        """One prompt to its end. It can be taken back as a whole."""
        sitting = self._sitting
        log = undo_in(sitting.bench.session.state(FILES_FAMILY))
        log.new_turn()
        if sitting.planning:
            prompt = planning_prompt(prompt)
        sitting.asked.append((log.turn, prompt))
        return sitting.bench.run(sitting.engine, prompt, token)

    def _do(self, work: Work, token: CancelToken) -> None:
        """A failure is a line, and not the end of the conversation."""
        try:
            work(token)
        except Exception as error:
            if self._sitting.bench.settings.verbose:
                failures.show_traceback()
            failures.tell(failures.as_claw_error(error).message)

    def _second_interrupt(self) -> bool:
        """Whether this Ctrl-C at the prompt came within 2 s of the one before."""
        before, self._interrupted_at = self._interrupted_at, time.monotonic()
        if self._interrupted_at - before < TWICE_S:
            return True
        _say("(Ctrl-C again leaves)")
        return False


def _say(text: str) -> None:
    print(shown(text), flush=True)  # noqa: T201
