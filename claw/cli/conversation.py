"""`claw` without a command: from the flags to the REPL, and the first run with nothing set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from claw.cancel import CancelToken
from claw.cli.assemble import assemble
from claw.cli.failures import USAGE, tell
from claw.cli.first_run import LocalServer, explained, local_servers
from claw.cli.held_signals import let_signals_through
from claw.cli.question import ask_yes_no
from claw.cli.repl import run_repl
from claw.cli.settings import Flags, NothingSet, wants_color
from claw.cli.terminal import Terminal
from claw.cli.user_questions import UserQuestions


def converse(flags: Flags) -> int:
    """Runs the REPL, or with nothing set helps to a server; returns the exit code."""
    let_signals_through()
    terminal = Terminal.of_process()
    try:
        return _converse(flags, terminal)
    except NothingSet as error:
        servers = local_servers()
        if not terminal.can_ask:
            raise explained(error, servers) from error
        chosen = _offered(flags, servers, terminal)
        if chosen is not None:
            return _converse(chosen, terminal)
        tell(explained(error, servers).message)
        return _demo(flags, terminal)


def _converse(flags: Flags, terminal: Terminal) -> int:
    def ask(question: str) -> bool:
        return ask_yes_no(terminal, question)

    bench = assemble(
        flags,
        os.environ,
        CancelToken(),
        ask=ask if terminal.can_ask else None,
        ask_user=UserQuestions(terminal) if terminal.can_ask else None,
    )
    with closing(bench):
        return run_repl(bench, terminal)


def _offered(flags: Flags, servers: Sequence[LocalServer], terminal: Terminal) -> Flags | None:
    """The flags that choose the first server the user says yes to."""
    for server in servers:
        name, model = server.preset.name, flags.model or server.model
        question = f"{name} runs on this machine, at {server.preset.base_url}. Use its {model}?"
        if server.models and ask_yes_no(terminal, question):
            return replace(flags, provider=name, model=model)
    return None


def _demo(flags: Flags, terminal: Terminal) -> int:
    from claw.cli.demo import run_demo

    if not ask_yes_no(terminal, "Start the demo?"):
        return USAGE
    return run_demo(color=wants_color(flags, os.environ))
