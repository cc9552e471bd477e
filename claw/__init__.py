"""claw: a synchronous coding agent. This is what an embedding script imports.

Importing it touches no network, no terminal, no signal handler and no file.
"""

from claw.approval import Decision, Rules, allow_all, deny_all
from claw.cancel import CancelToken
from claw.engine import Engine, RunStream
from claw.errors import Cancelled, ClawError, ConfigError, HistoryError, ProviderError, ToolError
from claw.events import RunResult, RunStatus
from claw.messages import Message, StopReason, ToolCall, ToolResult, Usage
from claw.reporter import MemoryReporter, Reporter, Tee
from claw.session import Session
from claw.tools.base import Tool, ToolContext, ToolOutput, ToolRegistry, tool

__all__ = [
    "CancelToken",
    "Cancelled",
    "ClawError",
    "ConfigError",
    "Decision",
    "Engine",
    "HistoryError",
    "MemoryReporter",
    "Message",
    "ProviderError",
    "Reporter",
    "Rules",
    "RunResult",
    "RunStatus",
    "RunStream",
    "Session",
    "StopReason",
    "Tee",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolOutput",
    "ToolRegistry",
    "ToolResult",
    "Usage",
    "allow_all",
    "deny_all",
    "tool",
]
