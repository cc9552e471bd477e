"""`claw demo`: a scripted model, and everything else as it is in real work.

The script answers over real HTTP, and the engine, the approvals and the tools are those of every
other run. It reads the results it is sent: when one is wrong, the demo says so and exits with 1.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from claw.approval import Approver, allow_all
from claw.cancel import CancelToken
from claw.cli import failures
from claw.cli.ask import Asker
from claw.cli.reporting import reporter_for
from claw.cli.rich_terminal import painter_for
from claw.cli.streams import write_output
from claw.cli.style import Paint, paint_diff
from claw.cli.system_prompt import system_prompt
from claw.cli.terminal import Terminal
from claw.cli.turn import turn
from claw.demo.project import changes, write_project
from claw.demo.script import TASK
from claw.demo.server import DemoServer
from claw.demo.wire import MODEL
from claw.engine import Engine
from claw.errors import ClawError, ConfigError
from claw.policy import PolicySettings
from claw.providers import OpenAIChat
from claw.session import Session
from claw.tools import coding_tools
from claw.tools.process_groups import groups_in
from claw.tools.state import SHELL_FAMILY

BEGINNING = """\
The model of this demo is a script: it needs no key, and nothing leaves this
machine. The rest is real: engine, HTTP, streaming, approvals, tools.
{approval}
The folder is {folder}{fate}.

claw> {task}

"""
ASKED = "You are asked before a command runs or a file changes."
NOBODY = "There is no terminal to ask questions on: here every call is allowed."
REMOVED = "The folder is removed. `claw --help` says how to set a model of your own."
KEPT = "The folder is kept: {folder}"


def run_demo(*, keep: bool = False, color: bool = True) -> int:
    """Plays the demo and returns the exit code: 1 when the script was sent something wrong.

    keep: leave the folder there. On the main thread; a second Ctrl-C raises KeyboardInterrupt.
    """
    token, terminal, session = CancelToken(), Terminal.of_process(), Session()
    kill = groups_in(session.state(SHELL_FAMILY)).kill_all
    with turn(token, terminal, kill=kill) as ending, demo_folder(keep=keep) as folder, session:
        asks = terminal.can_ask
        fate = "" if keep else ", removed at the end"
        approval = ASKED if asks else NOBODY
        show(BEGINNING.format(approval=approval, folder=folder, fate=fate, task=TASK))
        paint = painter_for(sys.stderr, color=color)
        asker = Asker(terminal, cwd=folder, settings=PolicySettings(), paint=paint)
        approver = asker if asks else allow_all
        code = play(folder, approver, session, token, color=color, paced=terminal.shows)
        if code == 0:
            show_changes(folder, painter_for(sys.stdout, color=color))
    code = ending.exit_code or code
    if code == 0:
        show(f"{KEPT.format(folder=folder) if keep else REMOVED}\n")
    return code


def play(
    folder: Path,
    approver: Approver,
    session: Session,
    token: CancelToken,
    *,
    color: bool,
    paced: bool,
) -> int:
    """One run against the script, with `folder` as its workspace; returns the exit code."""
    write_project(folder)
    tools = coding_tools(folder)
    with (
        DemoServer(f"{python_word()} -m unittest", pace=1.0 if paced else 0.0) as server,
        closing(OpenAIChat(MODEL, base_url=server.base_url, proxies={})) as provider,
    ):
        engine = Engine(
            provider,
            tools=tools,
            approver=approver,
            reporter=reporter_for(sys.stdout, show_text=True, color=color),
            system=system_prompt(folder, tools),
            cwd=folder,
            env=environment(),
        )
        try:
            result = engine.run(session, TASK, cancel=token)
        except ClawError as error:
            failures.tell(f"the demo failed: {server.failure or error.message}")
            return 1
    if result.cancel_reason == "broken pipe":
        raise BrokenPipeError
    return failures.exit_code(result)


def show_changes(folder: Path, paint: Paint) -> None:
    diff = changes(folder)
    head = "What has changed:\n" if diff else "Nothing has changed."
    show("\n" + "\n".join([head, *paint_diff(diff, paint)]) + "\n")


def show(text: str) -> None:
    write_output(text)


def python_word() -> str:
    """How the shell calls the Python that runs claw; see `environment`."""
    return shlex.quote(Path(sys.executable).name)


def environment() -> dict[str, str]:
    """For the tests' command: the Python that runs claw comes first, whatever the user's PATH."""
    home = str(Path(sys.executable).parent)
    path = os.pathsep.join([home, os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def demo_folder(*, keep: bool) -> Iterator[Path]:
    """A temp folder that is gone at the end. ConfigError where none can be made."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="claw-demo-")).resolve()
    except OSError as error:
        words = f"no temporary folder can be made: {error.strerror}"
        raise ConfigError(f"{words}; set TMPDIR to a folder that you may write") from error
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder)
