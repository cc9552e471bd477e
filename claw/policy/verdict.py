"""What is decided about a call, by what, and how: the values. decision.py decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeAlias

from claw.errors import ConfigError
from claw.modes import APPROVAL_MODES
from claw.values import frozen

Rule: TypeAlias = tuple[str, ...]
"""The whole words at the start of a simple command, such as ("git", "status")."""


class Answer(str, Enum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Kind(str, Enum):
    """What a tool does: reads, edits files and nothing else, runs a command line, or whatever."""

    READ = "read"
    EDIT = "edit"
    COMMAND = "command"
    OTHER = "other"


@frozen
class Request:
    """A call. command_line: what a COMMAND runs. caution, protected: what its tool says about this
    very call (see Tool), "" for nothing."""

    name: str
    arguments: Mapping[str, Any]
    kind: Kind
    command_line: str = ""
    caution: str = ""
    protected: str = ""


@frozen
class Grant:
    """What the user allowed for the session: a tool, or one identical command of it."""

    tool: str
    command: str = ""

    def about(self, *, shown_above: bool = False) -> str:
        """What it lets pass, in words. shown_above: the reader sees the command already."""
        if not self.command:
            return f"every {self.tool} call"
        return "exactly this command" if shown_above else f"exactly {self.command}"


@frozen
class PolicySettings:
    """What the user decided. ConfigError for a mode that there isn't, and for a rule that is text:
    `PolicySettings.of` takes those.

    mode: `ask` lets reads pass, `edits` edits of files too, `all` everything that nothing else
    speaks against; with `none` only reads pass, and nothing is asked. allow, deny: rules for
    commands; a rule of one word that is a tool's name is about that tool, where `allow` never
    means a tool that runs command lines. granted: for this session. planning: nothing but reading
    until the user says go. contained: commands run in a full sandbox, so what they may change is
    in the workspace. folders: absolute real paths, the workspace first, then the added ones.
    """

    mode: str = "ask"
    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    granted: frozenset[Grant] = frozenset()
    planning: bool = False
    contained: bool = False
    folders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in APPROVAL_MODES:
            raise ConfigError(
                f'the mode of approvals is "{self.mode}"; it can be {", ".join(APPROVAL_MODES)}'
            )
        rules: tuple[object, ...] = (*self.allow, *self.deny)
        for rule in rules:
            if isinstance(rule, str):  # would match nothing, a deny rule too
                raise ConfigError(
                    f"the rule {rule!r} is text and not words: PolicySettings.of takes texts"
                )

    @classmethod
    def of(
        cls, mode: str = "ask", *, allow: Iterable[str] = (), deny: Iterable[str] = ()
    ) -> PolicySettings:
        """Settings with rules as texts, as config.toml has them: allow=["pytest", "git diff"].
        ConfigError for one that isn't plain words."""
        from claw.policy.rules import rule_of  # late: with the grammar it takes 20 ms

        return cls(mode, tuple(map(rule_of, allow)), tuple(map(rule_of, deny)))


@frozen
class Verdict:
    """answer, and why, in words for people.

    remedy: the setting that would let the call pass, as a line of config.toml; "" where none
    would. grantable: a grant for the session would. reads: paths as the command spells them, whose
    way through links is to be looked at before an ALLOW counts; relative ones start in the
    workspace.
    """

    answer: Answer
    reason: str = ""
    remedy: str = ""
    grantable: bool = False
    reads: tuple[str, ...] = ()


ALLOWED = Verdict(Answer.ALLOW)
