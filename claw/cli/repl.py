"""The REPL: a prompt, a turn, a prompt. Ctrl-C never costs more than the turn it was meant for."""

from __future__ import annotations

import sys
import termios
import time

from claw.cancel import CancelToken
from claw.cli import failures
from claw.cli.ask import Asker
from claw.cli.assemble import Workbench
from claw.cli.interrupts import ENDING, EXIT_CTRL_C, EXIT_HANG_UP, ended_by_signals
from claw.cli.planning import planning_prompt
from claw.cli.prompt import best_prompt, continued
from claw.cli.reporting import reporter_for
from claw.cli.rich_terminal import painter_for
from claw.cli.slash import State, is_command, run_command
from claw.cli.steering import Steering
from claw.cli.terminal import CTRL_C, Terminal
from claw.cli.turn import turn
from claw.cli.visible import shown
from claw.errors import ConfigError
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
        self._state = State(bench, engine, _say, asker)
        self._given_back = ""
        self._interrupted_at = 0.0

    def run(self) -> int:
        """The loop. SystemExit for TERM and HUP."""
        self._greet()
        while not self._state.over:
            try:
                self._terminal.hold()  # whatever a tool did to it
                line = continued(self._line)
                self._interrupted_at = 0.0
                if is_command(line):
                    run_command(self._state, line)
                    line, self._state.prompt = self._state.prompt, ""
                if line.strip():
                    self._turn(line)
            except EOFError:
                break
            except KeyboardInterrupt:
                if self._second_interrupt():
                    return EXIT_CTRL_C
            except ConfigError as error:
                failures.tell(error.message)
        return 0

    def _greet(self) -> None:
        settings = self._state.bench.settings
        for line in self._state.bench.notices:
            failures.tell(line)
        if not settings.quiet:
            _say(f"claw with {settings.model} in {settings.cwd}. /help says more.")
            _say(self._state.bench.sandbox.about())

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

    def _turn(self, prompt: str) -> None:
        bench = self._state.bench
        token = bench.new_token()
        try:
            with turn(token, self._terminal, kill=bench.kill_commands) as ending:
                if self._terminal.take_ctrl_c():  # typed before it could be a signal
                    token.cancel("interrupt")
                self._run(prompt, token)
        except KeyboardInterrupt:
            _say("\n[left at once: what was going on may end a moment later]")
            return
        finally:
            cancelled = token.reason == "interrupt"
            self._given_back = self._steering.give_back(bench.session, cancelled=cancelled)
        if ending.signal in ENDING:
            raise SystemExit(ending.exit_code)

    def _run(self, prompt: str, token: CancelToken) -> None:
        """A failure is a line, and not the end of the conversation."""
        state = self._state
        undo_in(state.bench.session.state(FILES_FAMILY)).new_turn()
        if state.planning:
            prompt = planning_prompt(prompt)
        try:
            state.bench.run(state.engine, prompt, token)
        except Exception as error:
            if state.bench.settings.verbose:
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
