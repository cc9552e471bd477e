"""The REPL's slash commands: a table, so that /help can't name one that isn't there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from shutil import get_terminal_size
from typing import TypeAlias

from claw.cli.ask import Asker
from claw.cli.assemble import Workbench
from claw.cli.columns import cut
from claw.cli.planning import GO, set_planning
from claw.cli.usage_words import totals_words
from claw.cli.visible import shown, visible
from claw.engine import Engine
from claw.tools.state import FILES_FAMILY
from claw.tools.undo import undo_in
from claw.values import frozen

KEYS_HELP = (
    "Enter sends; a backslash before it begins a new line instead. A paste is kept as one.\n"
    "Ctrl-C ends the turn; at the prompt it clears the line, and twice it leaves.\n"
    "Ctrl-D leaves. What you type during a turn goes to the model at its next step; a command\n"
    "waits for the prompt. Ctrl-C brings back into the prompt what wasn't answered yet."
)


@dataclass
class State:
    """What the commands look at and change."""

    bench: Workbench
    engine: Engine
    say: Callable[[str], None]
    asker: Asker
    over: bool = False
    prompt: str = ""  # what a command asks the model, right after it

    @property
    def planning(self) -> bool:
        return self.asker.settings.planning


Run: TypeAlias = Callable[[State, str], None]


@frozen
class SlashCommand:
    """`run(state, argument)`: the argument is what stands behind the name."""

    names: tuple[str, ...]
    about: str
    run: Run
    argument: str = ""


def is_command(line: str) -> bool:
    """Whether a line is a command rather than a prompt; `/usr/lib is full` begins with a path."""
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    return word.startswith("/") and "/" not in word[1:]


def run_command(state: State, line: str) -> None:
    """Runs a slash command, or says that there is none of that name. May raise ConfigError."""
    name, _, argument = line.strip().partition(" ")
    command = next((each for each in COMMANDS if name in each.names), None)
    if command is None:
        state.say(f"there is no command {shown(name)}; /help lists them")
    else:
        command.run(state, argument.strip())


def _help(state: State, argument: str) -> None:
    heads = [f"{', '.join(each.names)} {each.argument}".rstrip() for each in COMMANDS]
    width = max(map(len, heads))
    rows = [f"  {head:{width}}  {each.about}" for head, each in zip(heads, COMMANDS, strict=True)]
    state.say("\n".join([*rows, "", KEYS_HELP]))


def _clear(state: State, argument: str) -> None:
    state.bench.session.clear()
    state.say(
        "the conversation is empty; what its commands left running is ended, and /undo and the "
        "plan of `todo` begin anew"
    )


def _model(state: State, argument: str) -> None:
    if argument:
        bench = state.bench.with_model(argument)
        state.bench.provider.close()  # its idle connections
        state.engine.provider, state.engine.price = bench.provider, bench.settings.prices
        state.bench = bench
    settings = state.bench.settings
    state.say(f"{settings.model} ({settings.preset.name}, {settings.base_url})")


def _tools(state: State, argument: str) -> None:
    for tool in state.engine.tools:
        about = tool.description.partition("\n")[0]
        state.say(cut(shown(f"  {tool.name:12} {about}"), get_terminal_size().columns))


def _plan(state: State, argument: str) -> None:
    set_planning(True, state.engine, state.asker, state.bench.tools)
    state.say("planning: the model can read, and no more; /go lets it work")
    state.prompt = argument


def _go(state: State, argument: str) -> None:
    if not state.planning:
        state.say("there is no plan to go on with: /plan begins one")
        return
    set_planning(False, state.engine, state.asker, state.bench.tools)
    state.prompt = argument or GO


def _undo(state: State, argument: str) -> None:
    for line in undo_in(state.bench.session.state(FILES_FAMILY)).undo_turn():
        state.say(shown(line))


def _permissions(state: State, argument: str) -> None:
    asker = state.asker
    grants = sorted(asker.settings.granted, key=attrgetter("tool", "command"))
    if argument.isdecimal() and 0 < int(argument) <= len(grants):
        asker.take_back(grants.pop(int(argument) - 1))
    elif argument:
        state.say(f"there is no grant {shown(argument)}")
    state.say(f"mode: {asker.settings.mode}. {state.bench.sandbox.about()}")
    for number, grant in enumerate(grants, start=1):
        state.say(f"  {number}  allowed for this session: {visible(grant.about())}")


def _usage(state: State, argument: str) -> None:
    state.say(totals_words(state.bench.session.totals))


def _leave(state: State, argument: str) -> None:
    state.over = True


COMMANDS = (
    SlashCommand(("/help",), "this list", _help),
    SlashCommand(("/clear",), "forget the conversation, what /undo knows too", _clear),
    SlashCommand(("/model",), "show the model, or go on with another", _model, "[NAME]"),
    SlashCommand(("/tools",), "what the model may call", _tools),
    SlashCommand(("/plan",), "let the model read and plan, and no more", _plan, "[PROMPT]"),
    SlashCommand(("/go",), "let it do what it planned", _go, "[PROMPT]"),
    SlashCommand(("/undo",), "take back what the last turn wrote into files", _undo),
    SlashCommand(("/permissions",), "what is allowed; with N: take that back", _permissions, "[N]"),
    SlashCommand(("/usage",), "tokens and money so far", _usage),
    SlashCommand(("/exit", "/quit"), "leave", _leave),
)
