"""`claw run`: one prompt, then exit. Standard output holds what was asked for, and nothing else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import closing, nullcontext, suppress

from claw.approval import Approver
from claw.cancel import CancelToken
from claw.cli import failures
from claw.cli.assemble import assemble
from claw.cli.nobody_to_ask import NobodyToAsk
from claw.cli.output import Output, StandardOutput, output_for
from claw.cli.piped import context_of, read_to_end
from claw.cli.reporting import reporter_for
from claw.cli.settings import Flags, NothingSet
from claw.cli.streams import cannot_write, take_output
from claw.cli.terminal import Terminal
from claw.cli.turn import turn
from claw.cli.user_questions import UserQuestions
from claw.cli.workbench import Workbench
from claw.errors import AuthError, Cancelled, ClawError, ConfigError
from claw.events import Notice, RunFinished, RunResult, RunStatus
from claw.reporter import Reporter, Tee


def run_once(flags: Flags, prompt: str | None) -> int:
    """Runs `prompt` and returns the exit code; the envelope goes out on every way."""
    token = CancelToken()
    terminal, encoding = Terminal.of_process(), sys.stdout.encoding
    stdout = StandardOutput(take_output(), token, encoding)
    try:
        return _Once(flags, output_for(flags.output, stdout), token, terminal).play(prompt)
    finally:
        stdout.close()


class _Once:
    """One `claw run` on its way from flags to exit code."""

    def __init__(
        self, flags: Flags, output: Output, token: CancelToken, terminal: Terminal
    ) -> None:
        self._flags = flags
        self._output = output
        self._token = token
        self._terminal = terminal
        self._nobody: NobodyToAsk | None = None
        self._bench: Workbench | None = None
        self._started = time.monotonic()

    def play(self, prompt: str | None) -> int:
        with turn(self._token, self._terminal, kill=self._kill):
            try:
                return self._close(self._outcome(prompt, os.environ))
            except KeyboardInterrupt:  # a second Ctrl-C: it doesn't wait for the end
                return self._close(self._made_up(RunStatus.CANCELLED, reason="interrupt"))

    def _outcome(self, prompt: str | None, environ: Mapping[str, str]) -> RunResult:
        """The run's result, or one made up for whatever kept it from starting or finishing."""
        try:
            self._token.raise_if_cancelled()  # by a signal that came before there was a turn
            return self._run(prompt, environ)
        except Cancelled as cancelled:
            expired = cancelled.reason == "deadline"
            status = RunStatus.DEADLINE if expired else RunStatus.CANCELLED
            return self._made_up(status, reason=cancelled.reason)
        except BrokenPipeError:
            return self._made_up(RunStatus.CANCELLED, reason=failures.BROKEN_PIPE)
        except NothingSet as error:
            from claw.cli.first_run import explained, local_servers

            return self._made_up(RunStatus.ERROR, error=explained(error, local_servers()))
        except Exception as error:
            if self._flags.verbose:
                failures.show_traceback()
            return self._made_up(RunStatus.ERROR, error=failures.as_claw_error(error))

    def _run(self, prompt: str | None, environ: Mapping[str, str]) -> RunResult:
        _check_prompt(prompt)
        ask = self._ask if self._terminal.can_ask else None
        ask_user = UserQuestions(self._terminal) if self._terminal.can_ask else None
        self._bench = bench = assemble(
            self._flags, environ, self._token, ask=ask, ask_user=ask_user
        )
        settings = bench.settings
        display = reporter_for(
            sys.stderr,
            show_text=False,
            color=settings.color,
            quiet=settings.quiet,
            verbose=settings.verbose,
        )
        with closing(bench), self._token.child(settings.timeout) as limit:
            self._output.stdout.heed(limit)
            around = () if settings.quiet else (bench.sandbox.about(),)
            for line in (*bench.notices, *around):
                display.on_event(Notice(line))
            display.flush()
            whole = self._whole_prompt(prompt, limit, display)
            approver, on_repeat = self._approvers(bench)
            engine = bench.new_engine(approver, Tee(display, self._output), on_repeat)
            return bench.run(engine, whole, limit)

    def _approvers(self, bench: Workbench) -> tuple[Approver, Approver | None]:
        """Who decides about calls, and about the same call for the third time."""
        settings = bench.settings
        if self._terminal.can_ask:
            from claw.cli.ask import Asker
            from claw.cli.rich_terminal import painter_for

            paint = painter_for(sys.stderr, color=settings.color)
            asker = Asker(self._terminal, cwd=settings.cwd, settings=bench.policy, paint=paint)
            return asker, asker.about_repeat
        self._nobody = NobodyToAsk(cwd=settings.cwd, settings=bench.policy)
        return self._nobody, None

    def _whole_prompt(self, prompt: str | None, cancel: CancelToken, display: Reporter) -> str:
        """The prompt, with what stands on a redirected standard input."""
        if prompt in (None, "-"):
            typed = self._terminal.line_modes() if self._terminal.can_ask else nullcontext()
            with typed:
                data = read_to_end(0, cancel, what="standard input") or b""
            if not data.strip():
                raise ConfigError("the prompt is empty: nothing came on standard input")
            return data.decode("utf-8", "replace")
        context = context_of(0, cancel)
        if context is None:
            silent = "standard input is an open pipe that says nothing: going on without it"
            display.on_event(Notice(silent))
            display.flush()
        if not context or not context.strip():
            return str(prompt)
        return f"{prompt}\n\n<standard_input>\n{context}\n</standard_input>"

    def _ask(self, question: str) -> bool:
        from claw.cli.question import ask_yes_no

        return ask_yes_no(self._terminal, question, self._token)

    def _kill(self) -> None:
        """For the third Ctrl-C: no command that the run started outlives it."""
        if self._bench is not None:
            self._bench.kill_commands()

    def _made_up(
        self, status: RunStatus, *, error: ClawError | None = None, reason: str | None = None
    ) -> RunResult:
        spent = round(time.monotonic() - self._started, 3)
        return RunResult(status, error=error, cancel_reason=reason, duration_s=spent)

    def _close(self, result: RunResult) -> int:
        """The envelope if it isn't out yet, the line for the user, the exit code."""
        output, told = self._output, self._output.result is not None
        result = output.result or result
        if not told:
            with suppress(BrokenPipeError):
                output.on_event(RunFinished(result))
        if output.stdout.failure is not None:
            return self._output_failed(result, output.stdout.failure)
        if self._nobody and result.status is RunStatus.NEEDS_APPROVAL:
            failures.tell(self._nobody.explain())
        elif result.error or not told:
            failures.tell(self._closing_line(result))
        return failures.exit_code(result)

    def _output_failed(self, result: RunResult, failure: OSError) -> int:
        """Nobody reads standard output any more, or it can't be written."""
        ended_before = isinstance(failure, TimeoutError)  # it only waited for a slow reader
        if ended_before or result.cancel_reason in failures.CANCEL_EXITS:
            return failures.exit_code(result)
        if isinstance(failure, BrokenPipeError):
            return failures.OUTPUT_CLOSED
        failures.tell(cannot_write(failure))
        return 1

    def _closing_line(self, result: RunResult) -> str:
        line = failures.closing_line(result)
        bench = self._bench
        if bench and not (bench.key or bench.fallbacks) and isinstance(result.error, AuthError):
            line = f"{line} (no key was sent: {bench.settings.key.advice})"
        return line


def _check_prompt(prompt: str | None) -> None:
    """Finds out before anything is asked or sent that there is nothing to do."""
    if prompt is None and (sys.stdin is None or sys.stdin.isatty()):
        raise ConfigError('there is no prompt: claw run "what to do", or pipe it in')
    if prompt is not None and not prompt.strip():
        raise ConfigError("the prompt is empty")
