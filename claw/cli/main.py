"""The `claw` command as click sees it. All else is imported when it is used: `--help` is quick."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource

from claw.cli.held_signals import hold_signals
from claw.cli.undumpable import make_undumpable
from claw.modes import APPROVAL_MODES, SANDBOX_MODES

if TYPE_CHECKING:
    from claw.cli.settings import Flags

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option("--provider", metavar="NAME", help="The model server, by its preset's name."),
    click.option("--model", metavar="NAME", help="The model, as the server names it."),
    click.option("--base-url", metavar="URL", help="Any server that speaks OpenAI's dialect."),
    click.option("--cwd", "-C", metavar="DIR", help="The folder to work in."),
    click.option(
        "--approve",
        type=click.Choice(APPROVAL_MODES),
        help="ask: reading is free, all else asks (the default). edits: so are edits in the folder."
        " all: only protected files ask, and what a deny rule may be about. none: reading is all "
        "the model may do.",
    ),
    click.option(
        "--sandbox",
        type=click.Choice(SANDBOX_MODES),
        help="Whether commands are shut in: where it is possible (the default), always, or never.",
    ),
    click.option(
        "--net/--no-net",
        help="Whether commands in the sandbox may use the network. They may not by default.",
    ),
    click.option(
        "--add-dir",
        "add_dirs",
        multiple=True,
        metavar="DIR",
        help="A further folder to work in; may be given several times.",
    ),
    click.option(
        "--effort",
        type=click.Choice(["off", "low", "medium", "high"]),
        help="How much the model thinks, where it can.",
    ),
    click.option(
        "--fallback",
        multiple=True,
        metavar="PRESET:MODEL",
        help="Whom to ask when the server can't answer; may be given several times.",
    ),
    click.option("--max-steps", type=click.IntRange(min=1), help="Replies a turn may take."),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="The time a turn may take.",
    ),
    click.option(
        "--budget", metavar="AMOUNT", help="Tokens or money a turn may take: 50k, 1.5m, 0.50usd."
    ),
    click.option("--max-output-tokens", type=click.IntRange(min=1), help="The limit of one reply."),
    click.option(
        "--continue", "-c", "go_on", is_flag=True, help="Go on with this folder's last session."
    ),
    click.option("--resume", metavar="ID", help="Go on with this session; the id's start will do."),
    click.option("--no-session", is_flag=True, help="Keep nothing of this conversation on disk."),
    click.option("--system-file", metavar="FILE", help="A system prompt in place of claw's own."),
    click.option("--trace", metavar="FILE", help="Record all that happens, for `claw replay`."),
    click.option("--replay", metavar="FILE", help="Such a record in place of server and tools."),
    click.option("--log-file", metavar="FILE", help="Where to write claw's log."),
    click.option("--verbose", is_flag=True, help="Show tracebacks."),
    click.option("--quiet", is_flag=True, help="Show errors and questions only."),
    click.option("--no-color", is_flag=True, help="No colours; NO_COLOR=1 does the same."),
)


def shared_options(function: Command) -> Command:
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def command(function: Callable[..., int]) -> Callable[..., None]:
    """Makes a click callback of `function(flags, its own parameters)`, which returns an exit code.

    click would turn KeyboardInterrupt into Abort, and a closed pipe into exit code 1, so nothing
    but SystemExit may reach it. Signals are held while a command imports its parts: it has a
    `turn`, or lets them through itself.
    """

    @click.pass_context
    def callback(context: click.Context, /, **given: Any) -> None:
        hold_signals()
        from claw.cli.failures import guarded

        flags = flags_of(context)
        own = {name: value for name, value in given.items() if not hasattr(flags, name)}
        sys.exit(guarded(lambda: function(flags, **own), verbose=flags.verbose))

    return update_wrapper(callback, function)


@command
def converse(flags: Flags) -> int:
    from claw.cli.conversation import converse

    return converse(flags)


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@shared_options
@click.version_option(package_name="claw-engine", message="claw %(version)s")
@click.pass_context
def cli(context: click.Context, /, **options: Any) -> None:
    """A coding agent for the terminal. Without a command: a conversation about this folder.

    Keys come from the environment: OPENAI_API_KEY and its like for the makers' own servers,
    CLAW_API_KEY for the server of --base-url.
    """
    if context.invoked_subcommand is None:
        converse()


@cli.command()
@click.argument("prompt", required=False)
@shared_options
@click.option(
    "--output",
    type=click.Choice(["text", "json", "jsonl"]),
    default="text",
    show_default=True,
    help="text: the answer. json: one envelope at the end. jsonl: one event a line.",
)
@command
def run(flags: Flags, prompt: str | None) -> int:
    """Do one PROMPT, then exit.

    Without PROMPT, or with "-", standard input is the prompt; beside a PROMPT, redirected input is
    its context. Exit codes: 0 done, 1 provider or network error, 2 usage or configuration, 3 cut
    short, 4 nobody to ask for approval, 130 Ctrl-C.
    """
    from claw.cli.run import run_once

    return run_once(flags, prompt)


@cli.command()
@click.argument("file")
@click.option(
    "--timing",
    type=click.Choice(["none", "original"]),
    default="none",
    show_default=True,
    help="original: with the pauses that server and tools made.",
)
@click.option(
    "--output",
    type=click.Choice(["text", "json", "jsonl"]),
    default="text",
    show_default=True,
    help="As of `claw run`.",
)
@click.option("--verbose", is_flag=True, help="Show tracebacks.")
@click.option("--quiet", is_flag=True, help="Show errors and differences only.")
@click.option("--no-color", is_flag=True, help="No colours; NO_COLOR=1 does the same.")
@command
def replay(flags: Flags, file: str, timing: str) -> int:
    """Play what --trace has recorded in FILE, and compare.

    There is no network, and no tool is run. Exit codes: 0 all came out as it was recorded, 1 not.
    """
    from claw.cli.replay import replay_tape

    return replay_tape(flags, file, original_timing=timing == "original")


@cli.command()
@click.option("--keep", is_flag=True, help="Leave the folder there.")
@command
def demo(flags: Flags, keep: bool) -> int:
    """Play a real task with a scripted model, in a temporary folder."""
    import os

    from claw.cli.demo import run_demo
    from claw.cli.settings import wants_color

    return run_demo(keep=keep, color=wants_color(flags, os.environ))


@cli.command()
@click.argument("file", metavar="MODEL.gguf")
@shared_options
@click.option("--chat-template", metavar="FILE", help="A Jinja file in place of the model's own.")
@click.option(
    "--context",
    type=click.IntRange(min=256),
    metavar="TOKENS",
    help="How much the model keeps in view, which costs memory (16384).",
)
@command
def local(flags: Flags, file: str, chat_template: str | None, context: int | None) -> int:
    """Talk to a model file of your own, which llama.cpp serves meanwhile.

    It takes pip install 'claw-engine[local]'. The conversation stays on this machine.
    """
    from claw.cli.local import converse_locally

    return converse_locally(flags, file, chat_template=chat_template or "", context=context)


@cli.command()
@click.argument("url", required=False)
@click.option("--provider", metavar="NAME", help="Look at this preset's server instead of a URL.")
@click.option("--model", metavar="NAME", help="The model to ask; else the first it lists.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="The time it may take (30).",
)
@click.option("--write", is_flag=True, help="Add the preset that suits it to config.toml.")
@click.option("--name", metavar="NAME", help="The name of that preset.")
@click.option("--json", is_flag=True, help="One JSON object in place of the table.")
@command
def doctor(flags: Flags, url: str | None, write: bool, name: str | None, json: bool) -> int:
    """Find out what the server at URL speaks, and how; without URL, look at this machine.

    It asks a few short questions. No tool is run. A key for URL comes from CLAW_API_KEY.
    """
    if url or flags.provider or flags.base_url:
        from claw.cli.doctor import Wishes, examine

        return examine(flags, url or "", Wishes(name or "", write=write, json=json))
    from claw.cli.checkup import check_up

    return check_up(flags, as_json=json, wants_server=bool(write or name or flags.model))


@cli.command()
@click.option("--provider", metavar="NAME", help="The model server, by its preset's name.")
@click.option("--base-url", metavar="URL", help="The model server, by its URL.")
@click.option("--json", is_flag=True, help="One JSON object in place of the lines.")
@command
def models(flags: Flags, json: bool) -> int:
    """List the models that the server offers."""
    from claw.cli.models import show_models

    return show_models(flags, as_json=json)


@cli.group()
def config() -> None:
    """Look at the settings."""


@config.command()
@command
def show(flags: Flags) -> int:
    """Print the settings in force and where each comes from; keys as set or not set."""
    from claw.cli.show_config import show_settings

    return show_settings(flags)


@config.command()
@command
def path(flags: Flags) -> int:
    """Print where config.toml is looked for."""
    from claw.cli.show_config import show_path

    return show_path()


@cli.group()
def sessions() -> None:
    """Look at the conversations of before: each is kept on this machine."""


@sessions.command("list")
@click.option("--search", metavar="TEXT", help="Only those in which this was said.")
@click.option("--json", is_flag=True, help="One JSON object in place of the lines.")
@command
def sessions_list(flags: Flags, search: str | None, json: bool) -> int:
    """A session a line: id, last use, folder, model, size, how it began."""
    from claw.cli.sessions import list_sessions

    return list_sessions(as_json=json, search=search or "")


@sessions.command("show")
@click.argument("id")
@command
def sessions_show(flags: Flags, id: str) -> int:
    """Print a conversation. The beginning of its ID, or of the ID's last part, is enough."""
    from claw.cli.sessions import show_session

    return show_session(id)


@sessions.command("rm")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Don't ask.")
@command
def sessions_remove(flags: Flags, ids: tuple[str, ...], yes: bool) -> int:
    """Remove sessions for good."""
    from claw.cli.sessions import remove_sessions

    return remove_sessions(ids, sure=yes)


@sessions.command("export")
@click.argument("id")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="For people, or for programs.",
)
@click.option("--to", metavar="FILE", help="A new file in place of standard output.")
@command
def sessions_export(
    flags: Flags, id: str, form: Literal["markdown", "json"], to: str | None
) -> int:
    """Write a whole conversation down."""
    from claw.cli.sessions import export_session

    return export_session(id, form, to or "")


def main() -> None:
    """What the `claw` script calls."""
    # Imports make many objects and no garbage; looking for some after every 700 of them, as
    # Python does, would be a tenth of the time to the first token.
    gc.set_threshold(100_000, 20, 20)
    try:
        make_undumpable()
        # Its own ending would call a Ctrl-C "Aborted!", and a full disk a fault of ours.
        code = cli.main(prog_name="claw", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        code = 141
    except OSError as error:
        from claw.cli.streams import cannot_write

        code = 1
        sys.stderr.write(f"claw: {cannot_write(error)}\n")
    if code in (1, 130, 141):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered can't fail any more
    sys.exit(code)


def flags_of(context: click.Context) -> Flags:
    """The options of `claw` and of its command in one; the command's own win."""
    from dataclasses import replace

    from claw.cli.settings import Flags

    above = Flags() if context.parent is None else flags_of(context.parent)
    given = {
        name: value
        for name, value in context.params.items()
        if hasattr(above, name)
        and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    return replace(above, **given)
