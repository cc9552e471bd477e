"""The REPL's slash commands: a table, so that /help can't name one that isn't there."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from shutil import get_terminal_size
from typing import TypeAlias

from claw.cli.columns import cut
from claw.cli.planning import GO, set_planning
from claw.cli.session_commands import export, fork, resume, undo
from claw.cli.sitting import Sitting
from claw.cli.usage_words import totals_words
from claw.cli.visible import shown, visible
from claw.engine import compact_now
from claw.values import frozen

KEYS_HELP = (
    "Enter sends; a backslash before it begins a new line instead. A paste is kept as one.\n"
    "Ctrl-C ends the turn; at the prompt it clears the line, and twice it leaves.\n"
    "Ctrl-D leaves. What you type during a turn goes to the model at its next step; a command\n"
    "waits for the prompt. Ctrl-C brings back into the prompt what wasn't answered yet."
)


Run: TypeAlias = Callable[[Sitting, str], None]


@frozen
class SlashCommand:
    """`run(sitting, argument)`: the argument is what stands behind the name."""

    names: tuple[str, ...]
    about: str
    run: Run
    argument: str = ""


def is_command(line: str) -> bool:
    """Whether a line is a command rather than a prompt; `/usr/lib is full` begins with a path."""
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    return word.startswith("/") and "/" not in word[1:]


def run_command(sitting: Sitting, line: str) -> None:
    """Runs a slash command, or says that there is none of that name. May raise ConfigError."""
    name, _, argument = line.strip().partition(" ")
    command = next((each for each in COMMANDS if name in each.names), None)
    if command is None:
        sitting.say(f"there is no command {shown(name)}; /help lists them")
    else:
        command.run(sitting, argument.strip())


def _help(sitting: Sitting, argument: str) -> None:
    heads = [f"{', '.join(each.names)} {each.argument}".rstrip() for each in COMMANDS]
    width = max(map(len, heads))
    rows = [f"  {head:{width}}  {each.about}" for head, each in zip(heads, COMMANDS, strict=True)]
    sitting.say("\n".join([*rows, "", KEYS_HELP]))


def _clear(sitting: Sitting, argument: str) -> None:
    sitting.bench.session.clear()
    sitting.asked.clear()
    sitting.say(
        "the conversation is empty; what its commands left running is ended, and /undo and the "
        "plan of `todo` begin anew"
    )


def _model(sitting: Sitting, argument: str) -> None:
    if argument:
        bench = sitting.bench.with_model(argument)
        sitting.bench.provider.close()  # its idle connections
        sitting.engine.provider, sitting.engine.price = bench.provider, bench.settings.prices
        sitting.bench = bench
    settings = sitting.bench.settings
    sitting.say(f"{settings.model} ({settings.preset.name}, {settings.base_url})")


def _tools(sitting: Sitting, argument: str) -> None:
    for tool in sitting.engine.tools:
        about = tool.description.partition("\n")[0]
        sitting.say(cut(shown(f"  {tool.name:12} {about}"), get_terminal_size().columns))


def _plan(sitting: Sitting, argument: str) -> None:
    set_planning(True, sitting.engine, sitting.asker, sitting.bench.tools)
    sitting.say("planning: the model can read, and no more; /go lets it work")
    sitting.prompt = argument


def _go(sitting: Sitting, argument: str) -> None:
    if not sitting.planning:
        sitting.say("there is no plan to go on with: /plan begins one")
        return
    set_planning(False, sitting.engine, sitting.asker, sitting.bench.tools)
    sitting.prompt = argument or GO


def _compact(sitting: Sitting, argument: str) -> None:
    bench, engine = sitting.bench, sitting.engine
    sitting.work = lambda token: compact_now(
        engine, bench.session, argument, cancel=token, reporter=engine.reporter
    )


def _permissions(sitting: Sitting, argument: str) -> None:
    asker = sitting.asker
    grants = sorted(asker.settings.granted, key=attrgetter("tool", "command"))
    if argument.isdecimal() and 0 < int(argument) <= len(grants):
        asker.take_back(grants.pop(int(argument) - 1))
    elif argument:
        sitting.say(f"there is no grant {shown(argument)}")
    sitting.say(f"mode: {asker.settings.mode}. {sitting.bench.sandbox.about()}")
    for number, grant in enumerate(grants, start=1):
        sitting.say(f"  {number}  allowed for this session: {visible(grant.about())}")


def _usage(sitting: Sitting, argument: str) -> None:
    sitting.say(totals_words(sitting.bench.session.totals))


def _leave(sitting: Sitting, argument: str) -> None:
    sitting.over = True


COMMANDS = (
    SlashCommand(("/help",), "this list", _help),
    SlashCommand(("/clear",), "forget the conversation, what /undo knows too", _clear),
    SlashCommand(("/model",), "show the model, or go on with another", _model, "[NAME]"),
    SlashCommand(("/tools",), "what the model may call", _tools),
    SlashCommand(("/plan",), "let the model read and plan, and no more", _plan, "[PROMPT]"),
    SlashCommand(("/go",), "let it do what it planned", _go, "[PROMPT]"),
    SlashCommand(("/undo",), "take back the last turn, and what it wrote into files", undo),
    SlashCommand(("/compact",), "sum up the conversation so far", _compact, "[WORDS]"),
    SlashCommand(("/resume",), "list sessions, or go on with one", resume, "[N|ID]"),
    SlashCommand(("/fork",), "list your prompts, or go on from one in a new session", fork, "[N]"),
    SlashCommand(("/export",), "show the conversation, or write it to a file", export, "[FILE]"),
    SlashCommand(("/permissions",), "what is allowed; with N: take that back", _permissions, "[N]"),
    SlashCommand(("/usage",), "tokens and money so far", _usage),
    SlashCommand(("/exit", "/quit"), "leave", _leave),
)
