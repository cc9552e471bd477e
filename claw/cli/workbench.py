"""Workbench: all that a turn needs, put together once."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from claw.approval import Approver
from claw.cancel import CancelToken
from claw.cli.failures import tell
from claw.cli.model_access import provider_for, with_fallbacks
from claw.cli.places import Places
from claw.cli.settings import Settings
from claw.engine import Engine
from claw.engine.budget import check_budget
from claw.events import RunResult
from claw.policy import PolicySettings
from claw.providers.fallback import Choice, FallbackProvider
from claw.providers.http_provider import HTTPProvider
from claw.providers.windows import context_window
from claw.reporter import Reporter
from claw.session import Session
from claw.store import SessionStore
from claw.tools.base import Tool
from claw.tools.process_groups import groups_in
from claw.tools.sandbox import NoSandbox, Sandbox
from claw.tools.state import SHELL_FAMILY
from claw.values import frozen

if TYPE_CHECKING:
    from claw.tape import Recorder, TapeProvider

Answering: TypeAlias = "HTTPProvider | FallbackProvider | TapeProvider"


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
