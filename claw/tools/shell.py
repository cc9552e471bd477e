"""bash: one command, one fresh shell, and a result that says how it ended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from claw.errors import ToolError
from claw.tools import sweep
from claw.tools.base import Tool, ToolContext, ToolOutput, tool
from claw.tools.groups import groups_in
from claw.tools.output import OutputFolder, OutputKeeper
from claw.tools.workspace import Workspace

if TYPE_CHECKING:
    from claw.tools.process import ProcessResult

DEFAULT_TIMEOUT_S = 120.0
LONGEST_TIMEOUT_S = 600.0
NAMED_PROCESSES = 5
QUIET_ENV = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
# Where a simple command begins, outside of parentheses: there a `cd` changes the shell's folder.
CHANGES_FOLDER = re.compile(r"(?:^|[;&|\n]|\b(?:then|else|do)\b)\s*(?:cd|pushd|popd)(?=[\s;&|]|$)")


def bash_tool(workspace: Workspace) -> Tool:
    """The `bash` tool, bound to a workspace. Its family's state is `groups` and `outputs`."""

    @tool(family="shell")
    def bash(
        command: Annotated[str, "What `bash -c` gets"],
        context: ToolContext,
        timeout_s: Annotated[float | None, "Seconds, 120 by default, at most 600"] = None,
    ) -> ToolOutput:
        """Runs a command in the workspace with `bash -c` and returns its exit code and output.

        Every call is a fresh shell: cd, variables and functions don't last. Standard input is
        empty and there is no terminal, so nothing can be asked. Long output is cut in the middle;
        the whole of it is then in a file that the result names. What is started with & is left
        running, and ends with the session. Prefer read_file, search and edit_file to cat, grep
        and sed.
        """
        from claw.tools.process import run_process  # with subprocess it takes 2 ms of every start

        limit = timeout_of(timeout_s)
        context.cancel.raise_if_cancelled()
        outputs = outputs_in(context.state, workspace)
        keeper = OutputKeeper(whole=outputs.new_output)
        try:
            result = run_process(
                ["bash", "-c", command],
                cwd=workspace.root,
                env={**context.env, **QUIET_ENV},
                cancel=context.cancel,
                timeout=limit,
                groups=groups_in(context.state),
                on_output=lambda data: _tell(context, keeper.feed(data)),
            )
        except (OSError, ValueError) as error:
            raise ToolError(why_not_started(error, workspace)) from None
        finally:
            _tell(context, keeper.finish())
        return ToolOutput(
            "\n".join([*summary(command, result, limit), *filter(None, [keeper.text()])]),
            is_error=result.stopped is not None,
            details={
                "exit_code": result.exit_code,
                "duration_s": result.duration_s,
                "stopped": result.stopped,
            },
        )

    return bash


def outputs_in(state: dict[str, Any], workspace: Workspace) -> OutputFolder:
    """The folder for whole outputs of a session, which the reading tools may read unasked."""
    outputs = state.setdefault("outputs", OutputFolder(workspace.lend, workspace.take_back))
    assert isinstance(outputs, OutputFolder)
    return outputs


def timeout_of(timeout_s: float | None) -> float:
    """The seconds a command gets; more than the most is the most, ToolError for 0 and less."""
    if timeout_s is None:
        return DEFAULT_TIMEOUT_S
    if not timeout_s > 0:
        raise ToolError(f"timeout_s must be more than 0 and at most {LONGEST_TIMEOUT_S:g} seconds")
    return min(timeout_s, LONGEST_TIMEOUT_S)


def why_not_started(error: OSError | ValueError, workspace: Workspace) -> str:
    """The words for a command that no shell could be started for."""
    if isinstance(error, ValueError):  # a NUL, or half of a surrogate pair
        return f"not run: the command holds a character that no command can: {error}"
    if not workspace.root.is_dir():
        return f"not run: the workspace {workspace.root} is no longer there"
    if isinstance(error, FileNotFoundError):
        return "not run: bash is not installed here, or not on PATH"
    return f"not run: {error.strerror}"


def summary(command: str, result: ProcessResult, limit: float) -> list[str]:
    """The lines above the output: how it ended, what was ended, what still runs."""
    lines = [_outcome(result, limit)]
    if result.exit_code is None:
        lines.append("the system could not end it; it may still run")
    if result.stopped and not sweep.can_sweep():
        lines.append("processes that left its process group can't be found on this system")
    if result.ended:
        lines.append(f"also ended: {_some(result.ended)}")
    if result.still_running:
        until = "until the session ends" if sweep.can_sweep() else "even after the session"
        lines.append(f"still running, {until}: {_some(result.still_running)}")
    if CHANGES_FOLDER.search(command):
        lines.append("(cd doesn't last: the next command starts in the workspace again)")
    return lines


def _outcome(result: ProcessResult, limit: float) -> str:
    took = f"{result.duration_s:.1f} s"
    if result.stopped == "timeout":
        longer = f"; timeout_s may be up to {LONGEST_TIMEOUT_S:g}"
        return f"timed out after {limit:g} s and was ended{longer * (limit < LONGEST_TIMEOUT_S)}"
    if result.stopped:
        return f"interrupted after {took}"
    return f"exit code {result.exit_code} after {took}"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - NAMED_PROCESSES
    return "; ".join(names[:NAMED_PROCESSES]) + (f"; and {more} more" if more > 0 else "")


def _tell(context: ToolContext, text: str) -> None:
    if text:
        context.output(text)
