"""`claw local MODEL.gguf`: llama.cpp's server as a child, and the REPL on it."""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size

from claw.cancel import CancelToken
from claw.cli.columns import cut
from claw.cli.conversation import converse
from claw.cli.failures import tell
from claw.cli.interrupts import EXIT_HANG_UP
from claw.cli.keys import GENERAL_VARIABLE
from claw.cli.model_file import checked_model, checked_template
from claw.cli.plain import ERASE_LINE
from claw.cli.settings import Flags
from claw.cli.terminal import Terminal
from claw.cli.turn import turn
from claw.cli.visible import shown
from claw.errors import Cancelled, ConfigError
from claw.local.llama_server import PROGRAM, LlamaServer

LOOPBACK = "127.0.0.1"
PRESET = "llamacpp"
DEFAULT_CONTEXT = 16_384  # tokens; a model's own limit may ask for more memory than there is


def converse_locally(
    flags: Flags,
    file: str,
    *,
    chat_template: str = "",
    context: int | None = None,
    program: Path = PROGRAM,
) -> int:
    """Serves the model `file` and runs the REPL on it; returns the exit code, the server gone.

    context: tokens. program: what LlamaServer runs. ConfigError for what the user can mend,
    ClawError where the server doesn't start. On the main thread.
    """
    terminal = Terminal.of_process()
    if flags.provider or flags.base_url:
        raise ConfigError("claw local starts a server of its own: leave --provider and --base-url")
    if not (terminal.can_ask and terminal.shows):
        raise ConfigError("claw local is a conversation and needs a terminal")
    path, template = checked_model(file), checked_template(chat_template)
    name = flags.model or path.stem
    server = LlamaServer(
        path, name=name, context=context or DEFAULT_CONTEXT, template=template, program=program
    )
    with closing(server):
        base_url = _ready(server, name, terminal)
        if isinstance(base_url, int):
            return base_url
        _prepare_environment(server.key)
        chosen = replace(flags, provider=PRESET, base_url=base_url, model=name, stay_local=True)
        code = converse(chosen)
        if server.last_words:
            tell(server.last_words)
        return code


def _ready(server: LlamaServer, name: str, terminal: Terminal) -> str | int:
    """The base URL once the model is loaded, or the exit code for the signal that ended the wait.

    A second Ctrl-C raises KeyboardInterrupt; a third ends the process, the child with it.
    """
    token = CancelToken()

    def waiting(seconds: float) -> None:
        line = f"llama.cpp loads {shown(name)}: {seconds:.0f} s (Ctrl-C ends it)"
        _draw(ERASE_LINE + cut(line, get_terminal_size().columns - 1))

    base_url = ""
    with turn(token, terminal, kill=server.kill) as ending:
        try:
            base_url = server.wait_ready(token, waiting)
        except Cancelled:
            pass
        finally:
            _draw(ERASE_LINE)
    if terminal.gone:
        terminal.abandon()
        return EXIT_HANG_UP
    return ending.exit_code or base_url


def _prepare_environment(key: str) -> None:
    """The server's own key in place of the user's, which isn't for it. And past any proxy, or the
    conversation would leave this machine on its way to the child."""
    os.environ[GENERAL_VARIABLE] = key
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    os.environ["no_proxy"] = f"{known},{LOOPBACK}" if known else LOOPBACK


def _draw(text: str) -> None:
    with suppress(OSError):  # the window may be closed: the signal for that is on its way
        sys.stderr.write(text)
        sys.stderr.flush()
