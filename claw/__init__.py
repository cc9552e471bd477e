"""claw: a synchronous coding agent. This is what an embedding script imports.

Importing it touches no network, no terminal, no signal handler and no file. Each name is loaded
when it is first used, so that `claw --help` doesn't pay for the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claw.approval import Decision as Decision
    from claw.approval import Rules as Rules
    from claw.approval import allow_all as allow_all
    from claw.approval import deny_all as deny_all
    from claw.cancel import CancelToken as CancelToken
    from claw.engine import Engine as Engine
    from claw.engine import RunStream as RunStream
    from claw.errors import Cancelled as Cancelled
    from claw.errors import ClawError as ClawError
    from claw.errors import ConfigError as ConfigError
    from claw.errors import HistoryError as HistoryError
    from claw.errors import ProviderError as ProviderError
    from claw.errors import ToolError as ToolError
    from claw.events import RunResult as RunResult
    from claw.events import RunStatus as RunStatus
    from claw.messages import Message as Message
    from claw.messages import StopReason as StopReason
    from claw.messages import ToolCall as ToolCall
    from claw.messages import ToolResult as ToolResult
    from claw.messages import Usage as Usage
    from claw.policy import PolicySettings as PolicySettings
    from claw.reporter import MemoryReporter as MemoryReporter
    from claw.reporter import Reporter as Reporter
    from claw.reporter import Tee as Tee
    from claw.session import Session as Session
    from claw.tools.base import Tool as Tool
    from claw.tools.base import ToolContext as ToolContext
    from claw.tools.base import ToolOutput as ToolOutput
    from claw.tools.base import ToolRegistry as ToolRegistry
    from claw.tools.base import tool as tool

NAMES = {
    "claw.approval": ("Decision", "Rules", "allow_all", "deny_all"),
    "claw.cancel": ("CancelToken",),
    "claw.engine": ("Engine", "RunStream"),
    "claw.errors": (
        "Cancelled",
        "ClawError",
        "ConfigError",
        "HistoryError",
        "ProviderError",
        "ToolError",
    ),
    "claw.events": ("RunResult", "RunStatus"),
    "claw.messages": ("Message", "StopReason", "ToolCall", "ToolResult", "Usage"),
    "claw.policy": ("PolicySettings",),
    "claw.reporter": ("MemoryReporter", "Reporter", "Tee"),
    "claw.session": ("Session",),
    "claw.tools.base": ("Tool", "ToolContext", "ToolOutput", "ToolRegistry", "tool"),
}
HOMES = {name: module for module, names in NAMES.items() for name in names}

__all__ = [*HOMES]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(HOMES)
