"""What is decided about a call, by what, and how: the values. The decision is judge.py."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeAlias

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
class PolicySettings:
    """What the user decided.

    mode: `ask` lets reads pass, `edits` edits of files too, `all` everything that nothing else
    speaks against; with `none` only reads pass, and nothing is asked. allow, deny: rules for
    commands; a rule of one word that is a tool's name is about that tool, where `allow` never
    means a tool that runs command lines. granted: for this session, a tool's name with the
    identical command or "". planning: nothing but reading until the user says go. contained:
    commands run in a full sandbox, so what they may change is in the workspace. folders: absolute
    paths, the workspace first, then the added ones.
    """

    mode: str = "ask"
    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    granted: frozenset[tuple[str, str]] = frozenset()
    planning: bool = False
    contained: bool = False
    folders: tuple[str, ...] = ()


@frozen
class Verdict:
    """answer, and why, in words for people.

    rule: the setting that would let the call pass, as a line of the settings file; "" where none
    would. reads: paths as the command spells them, whose way through links is to be looked at
    before an ALLOW counts; relative ones start in the workspace.
    """

    answer: Answer
    reason: str = ""
    rule: str = ""
    reads: tuple[str, ...] = ()


ALLOWED = Verdict(Answer.ALLOW)
