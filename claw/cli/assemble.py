"""From settings to a ready Workbench: provider, tools, system prompt, session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from claw.approval import Approver
from claw.cancel import CancelToken
from claw.cli.config import UserConfig, read_config
from claw.cli.failures import tell
from claw.cli.keys import fetch_key
from claw.cli.logs import set_up_logs
from claw.cli.model_access import fallback_choices, provider_for, with_fallbacks
from claw.cli.places import Places, find_places, read_plain, user_path
from claw.cli.planning import reading_tools
from claw.cli.project import project_instructions, with_project_settings
from claw.cli.settings import Flags, Settings, need_model, resolve
from claw.cli.system_prompt import system_prompt
from claw.cli.trust import TrustedFolders, settle_trust
from claw.cli.user_tools import load_tools
from claw.engine import Engine
from claw.engine.budget import check_budget
from claw.errors import ConfigError
from claw.events import RunResult
from claw.policy import PolicySettings
from claw.providers.fallback import Choice, FallbackProvider
from claw.providers.http_provider import HTTPProvider
from claw.providers.presets import KEY_VARIABLES
from claw.providers.windows import context_window
from claw.reporter import Reporter
from claw.session import Session
from claw.store import SessionStore
from claw.tools import coding_tools
from claw.tools.ask_user import AskUser, ask_user_tool
from claw.tools.base import Tool, ToolRegistry
from claw.tools.process_groups import groups_in
from claw.tools.sandbox import NoSandbox, Sandbox, find_sandbox
from claw.tools.state import SHELL_FAMILY
from claw.values import frozen

if TYPE_CHECKING:
    from claw.tape import Recorder, TapeProvider

Answering: TypeAlias = "HTTPProvider | FallbackProvider | TapeProvider"

SYSTEM_FILE_BYTES = 200_000


@frozen
class Workbench:
    """Everything a turn needs, put together once. Close it when the work is done.

    env: what tools get to see, once the engine has taken more keys out. notices: lines to tell the
    user at the start. key: what the requests to the chosen server carry, if anything.
    """

    settings: Settings
    places: Places
    provider: Answering
    tools: tuple[Tool, ...]
    system: str
    env: Mapping[str, str] = field(repr=False)
    notices: tuple[str, ...] = ()
    key: str | None = field(default=None, repr=False)
    fallbacks: tuple[Choice, ...] = ()
    sandbox: Sandbox = field(default_factory=NoSandbox)
    session: Session = field(default_factory=Session)
    store: SessionStore | None = None
    recorder: Recorder | None = None

    def run(self, engine: Engine, prompt: str, cancel: CancelToken) -> RunResult:
        """`engine.run` in the bench's session, on the tape where one is recorded."""
        if self.recorder is None:
            return engine.run(self.session, prompt, cancel=cancel)
        return self.recorder.run(engine, self.session, prompt, cancel=cancel)

    def new_engine(
        self, approver: Approver, reporter: Reporter, on_repeat: Approver | None = None
    ) -> Engine:
        """An engine on this bench."""
        settings = self.settings
        return Engine(
            self.provider,
            tools=self.tools,
            approver=approver,
            on_repeat=on_repeat,
            reporter=reporter,
            system=self.system,
            cwd=settings.cwd,
            env=self.env,
            max_steps=settings.max_steps,
            max_tokens=settings.max_output_tokens,
            context_window=context_window(settings.preset, settings.model),
            price=settings.prices,
            budget=settings.budget,
        )

    @property
    def policy(self) -> PolicySettings:
        """What approvers judge by at the start of a session."""
        settings = self.settings
        return PolicySettings(
            mode=settings.approve,
            allow=settings.allow,
            deny=settings.deny,
            contained=self.sandbox.full,
            folders=tuple(str(folder) for folder in (settings.cwd, *settings.add_dirs)),
        )

    def new_token(self) -> CancelToken:
        """A token for one turn, with the time limit that the settings give it."""
        return CancelToken(timeout=self.settings.timeout)

    def with_model(self, name: str) -> Workbench:
        """The same bench with another model of the same server; the fallbacks stay."""
        settings = replace(self.settings, model=name)
        check_budget(settings.budget, settings.prices)
        if not isinstance(self.provider, HTTPProvider | FallbackProvider):
            return replace(self, settings=settings)  # a tape answers, whatever the model's name
        asked = provider_for(settings.server, self.key, settings.effort)
        provider = with_fallbacks(settings.server, asked, self.fallbacks)
        return replace(self, settings=settings, provider=provider)

    def with_session(self, session: Session) -> Workbench:
        """The same bench with another session; this one's is closed."""
        self.session.close()
        return replace(self, session=session)

    def kill_commands(self) -> None:
        """KILL to every command of the session that still runs. From any thread; doesn't block."""
        groups_in(self.session.state(SHELL_FAMILY)).kill_all()

    def close(self) -> None:
        """Ends what the session's tools left running, and lets go of the connections."""
        with closing(self.provider):
            self.session.close()
        for line in self.session.take_notices():
            tell(line)
        if self.recorder is not None:
            self.recorder.close()
            if failure := self.recorder.take_failure():
                tell(failure)


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
    trusted, notices = settle_trust(settings.cwd, TrustedFolders(places.trust_file), ask)
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
    if tape is None:
        tools = _tools(settings, sandbox, own_folders, ask_user)
    else:
        from claw.tape import tape_tools

        tools = tuple(tape_tools(tape))
    instructions, more = project_instructions(settings.cwd) if trusted else ("", [])
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
            instructions=instructions,
        ),
        env=_without_own_keys(environ, config),
        notices=(*config.warnings, *notices, *more),
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
    return Recorder(Path(file).expanduser(), secrets=keys.union(secrets))


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
) -> tuple[Tool, ...]:
    """What the model is offered: in mode `none` the reading tools alone."""
    built_in = coding_tools(
        settings.cwd, add_dirs=settings.add_dirs, sandbox=sandbox, protected=own_folders
    )
    tools = [*built_in, ask_user_tool(ask_user), *load_tools(settings.tools)]
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
