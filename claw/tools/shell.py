"""bash: one command, one fresh shell, and a result that says how it ended; or a job."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from claw.errors import ToolError
from claw.tools.base import Arguments, Tool, ToolContext, ToolOutput, tool
from claw.tools.environment import plain_environment
from claw.tools.jobs import job_endings, jobs_in
from claw.tools.outcome import ending, leftovers
from claw.tools.output import OutputKeeper
from claw.tools.process_groups import groups_in
from claw.tools.programs import shell_program
from claw.tools.sandbox import Sandbox
from claw.tools.sandbox.confinement import Confinement, Outside, confinement_in
from claw.tools.state import SHELL_FAMILY
from claw.tools.whole_output import outputs_in
from claw.tools.workspace import Workspace

if TYPE_CHECKING:
    from claw.tools.process import ProcessResult

BASH = "bash"
DEFAULT_TIMEOUT_S = 120.0
LONGEST_TIMEOUT_S = 600.0
IN_BACKGROUND = "it runs in the background, where what it writes is looked at only when it ends"
QUIET_ENV = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
# Where a simple command begins, outside of parentheses: there a `cd` changes the shell's folder.
CHANGES_FOLDER = re.compile(r"(?:^|[;&|\n]|\b(?:then|else|do)\b)\s*(?:cd|pushd|popd)(?=[\s;&|]|$)")


def bash_tool(workspace: Workspace, sandbox: Sandbox) -> Tool:
    """The `bash` tool, bound to a workspace; sandbox: what commands run in.

    Its family's state is `groups`, `outputs`, `jobs`, `confinement`.
    """

    def caution(arguments: Arguments, context: ToolContext) -> str | None:
        if not sandbox.full:  # a command is asked about anyway, unless the user has allowed it
            return None
        if arguments.get("background"):
            return IN_BACKGROUND
        return confinement_in(context.state, sandbox, workspace).caution()

    def protected(arguments: Arguments, context: ToolContext) -> str | None:
        return "asks to run outside the sandbox" if arguments.get("outside_sandbox") else None

    @tool(family=SHELL_FAMILY, command="command", caution=caution, protected=protected)
    def bash(
        command: Annotated[str, "What `bash -c` gets"],
        context: ToolContext,
        timeout_s: Annotated[float | None, "Seconds, 120 by default, at most 600"] = None,
        background: Annotated[bool, "Start it as a job and return at once"] = False,
        outside_sandbox: Annotated[bool, "Ask the user to let it run without the sandbox"] = False,
    ) -> ToolOutput:
        """Runs a command in the workspace with `bash -c` and returns its exit code and output.

        Every call is a fresh shell: cd, variables and functions don't last. Standard input is
        empty and there is no terminal, so nothing can be asked. Long output is cut in the middle;
        the whole of it is then in a file that the result names. What is started with & is left
        running. For a server or a long build use background=true, which has no time limit; `job`
        reads and ends it. All of it ends with the session. Prefer read_file, search and edit_file
        to cat, grep and sed.
        """
        checked_timeout(timeout_s)
        context.cancel.raise_if_cancelled()
        start = _start_job if background else _run
        inside = confinement_in(context.state, sandbox, workspace)
        where = Outside(inside) if outside_sandbox and sandbox.may_leave else inside
        try:
            return start(command, timeout_s, context, workspace, where)
        except (OSError, ValueError) as error:
            raise ToolError(why_not_started(error, workspace)) from None

    return _with_words_on(sandbox, bash)


def _with_words_on(sandbox: Sandbox, bash: Tool) -> Tool:
    """Where a sandbox is in force the model is told what it allows; nobody may ask out of none, nor
    out of one that is required."""
    if sandbox.in_force:
        words = f"It runs in a sandbox: {sandbox.allowance(None)}."
        bash = replace(bash, description=f"{bash.description}\n\n{words}")
    else:
        bash = replace(bash, caution=None)
    if sandbox.in_force and sandbox.may_leave:
        return bash
    properties = dict(bash.parameters["properties"])
    del properties["outside_sandbox"]
    return replace(bash, parameters={**bash.parameters, "properties": properties}, protected=None)


def _run(
    command: str,
    timeout_s: float | None,
    context: ToolContext,
    workspace: Workspace,
    where: Confinement | Outside,
) -> ToolOutput:
    """One command to its end, or until its time is up or the turn is cancelled."""
    from claw.tools.process import run_process  # with subprocess it takes 2 ms of every start

    limit = limit_of(timeout_s)
    keeper = OutputKeeper(whole=outputs_in(context.state, workspace).new_output)
    changes, left_running = where.before(), True
    try:
        result = run_process(
            where.command(argv_of(command, context, workspace), workspace.root),
            cwd=workspace.root,
            env=environment(context),
            cancel=context.cancel,
            timeout=limit,
            groups=groups_in(context.state),
            on_output=lambda data: _tell(context, keeper.feed(data)),
        )
        left_running = result.left_running
    finally:
        _tell(context, keeper.finish())
        changes += where.after(left_running=left_running)
    output = keeper.text()
    hint = where.hint(output) if result.exit_code and not result.stopped else None
    ended = summary(command, result, limit, where.in_front)
    lines = [*ended, *changes, *job_endings(context.state)]
    return ToolOutput(
        "\n".join([*lines, *filter(None, [output, hint])]),
        is_error=result.stopped is not None,
        details={
            "exit_code": result.exit_code,
            "duration_s": result.duration_s,
            "stopped": result.stopped,
        },
    )


def _start_job(
    command: str,
    timeout_s: float | None,
    context: ToolContext,
    workspace: Workspace,
    where: Confinement | Outside,
) -> ToolOutput:
    """A command in the background: it is the session's, whatever becomes of this turn."""
    jobs = jobs_in(context.state, outputs_in(context.state, workspace))
    changes = where.before()
    try:
        job = jobs.start(
            command,
            where.command(argv_of(command, context, workspace), workspace.root),
            cwd=workspace.root,
            env=environment(context),
            timeout=timeout_s,
            in_front=where.in_front,
            on_end=where.job_ended,
        )
    finally:
        changes += where.after(left_running=True)
    started = f"job {job.number} started (pid {job.pid})"
    path = job.output.path
    kept = f"; all of its output goes to {path}" if path else ""
    return ToolOutput(
        "\n".join([f"{started}{kept}", *changes, *job_endings(context.state)]),
        details={"job": job.number, "running": True},
    )


def argv_of(command: str, context: ToolContext, workspace: Workspace) -> list[str]:
    """What runs a command line. Not a login shell: that is 250 ms instead of 2."""
    program = shell_program(context.env, workspace.roots) or BASH
    return [str(program), "-c", command, BASH]  # the last is its $0


def environment(context: ToolContext) -> dict[str, str]:
    """What a command finds in its environment: nothing there should page, colour or ask."""
    return {**plain_environment(context.env), **QUIET_ENV}


def checked_timeout(timeout_s: float | None) -> None:
    """ToolError for 0 and less."""
    if timeout_s is not None and not timeout_s > 0:
        raise ToolError("timeout_s must be more than 0 seconds")


def limit_of(timeout_s: float | None) -> float:
    """The seconds that a command gets in the foreground."""
    return min(timeout_s or DEFAULT_TIMEOUT_S, LONGEST_TIMEOUT_S)


def why_not_started(error: OSError | ValueError, workspace: Workspace) -> str:
    """The words for a command that no shell could be started for."""
    if isinstance(error, ValueError):  # a NUL, or half of a surrogate pair
        return f"not run: the command holds a character that no command can: {error}"
    if not workspace.root.is_dir():
        return f"not run: the workspace {workspace.root} is no longer there"
    if error.filename == BASH:
        return "not run: bash is not installed here, or not on PATH"
    if isinstance(error, FileNotFoundError):  # such as the sandbox's own program
        return f"not run: {error.filename} is no longer there"
    return f"not run: {error.strerror}"


def summary(command: str, result: ProcessResult, limit: float, in_front: str) -> list[str]:
    """The lines above the output: how it ended, what was ended, what still runs (see leftovers)."""
    longer = result.stopped == "timeout" and limit < LONGEST_TIMEOUT_S
    hint = f"; timeout_s may be up to {LONGEST_TIMEOUT_S:g}" if longer else ""
    lines = [f"{ending(result, limit)}{hint}", *leftovers(result, in_front)]
    if CHANGES_FOLDER.search(command):
        lines.append("(cd doesn't last: the next command starts in the workspace again)")
    return lines


def _tell(context: ToolContext, text: str) -> None:
    if text:
        context.output(text)
