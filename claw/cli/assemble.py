"""From settings to a ready Workbench: provider, tools, system prompt, session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from claw.cancel import CancelToken
from claw.cli.config import UserConfig, read_config
from claw.cli.instructions import read_instructions
from claw.cli.keys import fetch_key
from claw.cli.logs import set_up_logs
from claw.cli.model_access import fallback_choices, provider_for, with_fallbacks
from claw.cli.places import find_places, read_plain, user_path
from claw.cli.planning import reading_tools
from claw.cli.project import with_project_settings
from claw.cli.settings import Flags, Settings, need_model, resolve
from claw.cli.skills import find_skills
from claw.cli.system_prompt import system_prompt
from claw.cli.trust import TrustedFolders, settle_trust
from claw.cli.user_tools import load_tools
from claw.cli.workbench import Answering, Workbench
from claw.engine.budget import check_budget
from claw.engine.task import task_tool
from claw.errors import ConfigError
from claw.providers.presets import KEY_VARIABLES
from claw.session import Session
from claw.store import SessionStore
from claw.tools import coding_tools
from claw.tools.ask_user import AskUser, ask_user_tool
from claw.tools.base import Tool, ToolRegistry
from claw.tools.sandbox import Sandbox, find_sandbox
from claw.tools.skill import Skill

if TYPE_CHECKING:
    from claw.tape import Recorder

SYSTEM_FILE_BYTES = 200_000


def assemble(
    flags: Flags,
    environ: Mapping[str, str],
    cancel: CancelToken,
    *,
    ask: Callable[[str], bool] | None = None,
    ask_user: AskUser | None = None,
) -> Workbench:
    """Reads the settings, gets the key, and puts the bench together.

    ask: puts a yes/no question of claw's to the user, ask_user one of the model's; None where
    there is nobody to ask. Raises ConfigError for whatever the user can mend, NothingSet where no
    server is named, Cancelled by `cancel`.
    """
    places = find_places(environ)
    config = read_config(places.config_file)
    tape = None
    if flags.replay:
        from claw.cli.replay import opened, without_server

        tape = opened(flags.replay)
        flags, environ, config = without_server(tape, flags, environ, config)
    settings = resolve(flags, environ, config)
    folders = TrustedFolders(places.trust_file)
    trusted, notices = settle_trust(settings.cwd, folders, ask)
    if trusted:
        config = with_project_settings(config, settings.cwd)
        settings = resolve(flags, environ, config)
    need_model(settings)
    check_budget(settings.budget, settings.prices)
    key = fetch_key(settings.key, environ, settings.preset.name, cancel)
    fallbacks = fallback_choices(settings.fallbacks, environ, settings.effort, cancel)
    if tape is None:
        asked = provider_for(settings.server, key, settings.effort)
        provider: Answering = with_fallbacks(settings.server, asked, fallbacks)
    else:
        from claw.tape import TapeProvider

        provider = TapeProvider(tape)
    set_up_logs(secrets=provider.secrets, verbose=settings.verbose, log_file=flags.log_file)
    store = SessionStore(places.sessions, secrets=provider.secrets)
    session = _session(flags, store, settings)
    own_folders = (places.config, places.state)
    sandbox = find_sandbox(
        settings.sandbox,
        workspace=settings.cwd,
        add_dirs=settings.add_dirs,
        net=settings.net,
        own_folders=own_folders,
        environ=environ,
    )
    skills = find_skills(places.config, settings.cwd if trusted else None)
    instructions = read_instructions(
        settings.cwd, places.config, trusted=trusted, answer=folders.answer
    )
    if tape is None:
        tools = _tools(settings, sandbox, own_folders, ask_user, skills.offered)
    else:
        from claw.tape import tape_tools

        tools = tuple(tape_tools(tape))
    return Workbench(
        settings=settings,
        places=places,
        provider=provider,
        tools=tools,
        system=system_prompt(
            settings.cwd,
            tools,
            add_dirs=settings.add_dirs,
            base=_system_file(settings.system_file),
            sections=(instructions.section(), skills.section()),
        ),
        env=_without_own_keys(environ, config),
        notices=(*config.warnings, *notices, *instructions.notices, *skills.notices),
        key=key,
        fallbacks=fallbacks,
        sandbox=sandbox,
        session=session,
        store=None if flags.no_session else store,
        recorder=_recorder(flags.trace, environ, provider.secrets),
    )


def _recorder(file: str, environ: Mapping[str, str], secrets: Sequence[str]) -> Recorder | None:
    """The tape on which the runs go, and on which no key of any server may stand."""
    if not file:
        return None
    from claw.tape import Recorder

    keys = {environ[name] for name in KEY_VARIABLES if environ.get(name)}
    return Recorder(user_path(file, "--trace "), secrets=keys.union(secrets))


def _session(flags: Flags, store: SessionStore, settings: Settings) -> Session:
    """The session that the user wishes to go on with, or a new one."""
    if flags.no_session:
        if flags.resume or flags.go_on:
            raise ConfigError(
                "--no-session keeps nothing: --resume and --continue don't go with it"
            )
        return Session()
    if flags.resume:
        return store.open(flags.resume)
    last = store.latest(settings.cwd) if flags.go_on else None
    if flags.go_on and last is None:
        raise ConfigError(f"there is no session of {settings.cwd} to go on with")
    return store.open(last.id) if last else store.new(settings.cwd, settings.model)


def _tools(
    settings: Settings,
    sandbox: Sandbox,
    own_folders: tuple[Path, ...],
    ask_user: AskUser | None,
    skills: Sequence[Skill],
) -> tuple[Tool, ...]:
    """What the model is offered: in mode `none` the reading tools alone."""
    built_in = coding_tools(
        settings.cwd,
        add_dirs=settings.add_dirs,
        sandbox=sandbox,
        protected=own_folders,
        skills=skills,
    )
    own = load_tools(settings.tools)
    names = {tool.name for tool in own}  # they take the place of built-in ones
    others = [*built_in, ask_user_tool(ask_user), task_tool()]
    tools = [*(tool for tool in others if tool.name not in names), *own]
    wanted = reading_tools(tools) if settings.approve == "none" else tools
    return tuple(ToolRegistry(wanted))


def _without_own_keys(environ: Mapping[str, str], config: UserConfig) -> dict[str, str]:
    """The engine takes out the keys it knows of; those of the user's presets only we know."""
    own = {table.preset.key_variable for table in config.presets.values()}
    return {name: value for name, value in environ.items() if name not in own}


def _system_file(name: str) -> str:
    if not name:
        return ""
    try:
        data = read_plain(user_path(name, "--system-file "), SYSTEM_FILE_BYTES)
    except OSError as error:
        raise ConfigError(f"--system-file {name} can't be read: {error.strerror}") from error
    return data.decode("utf-8", "replace").strip()
