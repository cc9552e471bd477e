"""The built-in tools of a folder, called as the engine calls them, without an engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from threading import Condition
from typing import Any

from claw.cancel import CancelToken
from claw.errors import ToolError
from claw.messages import ToolCall
from claw.session import Session
from claw.tools import coding_tools
from claw.tools.base import ToolContext, ToolOutput, ToolRegistry
from claw.tools.schema import problem_with


class LiveOutput:
    """What a running call has told; keeps the newest characters alone."""

    def __init__(self) -> None:
        self._text = ""
        self._changed = Condition()

    def add(self, text: str) -> None:
        with self._changed:
            self._text = (self._text + text)[-10_000:]
            self._changed.notify_all()

    def clear(self) -> None:
        self._text = ""

    def wait_for(self, text: str) -> None:
        """Until the call has told `text`, or for 20 s; then the test that waits fails by itself."""
        with self._changed:
            self._changed.wait_for(lambda: text in self._text, 20)


class Toolbox:
    """Calls tools in one session; a ToolError becomes an is_error result."""

    def __init__(self, root: Path, env: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.env = dict(os.environ) if env is None else dict(env)
        self.tools = ToolRegistry(coding_tools(root))
        self.session = Session()
        self.live = LiveOutput()

    def context(self, name: str, cancel: CancelToken | None = None) -> ToolContext:
        tool = self.tools.get(name)
        assert tool is not None
        return ToolContext(
            ToolCall("call-1", name),
            cancel or CancelToken(),
            self.root,
            self.env,
            self.live.add,
            self.session.state(tool.family or name),
        )

    def call(self, name: str, cancel: CancelToken | None = None, /, **arguments: Any) -> ToolOutput:
        tool = self.tools.get(name)
        assert tool is not None
        assert problem_with(arguments, tool.parameters) is None
        try:
            result = tool.run(arguments, self.context(name, cancel))
        except ToolError as error:
            return ToolOutput(error.message, is_error=True)
        return result if isinstance(result, ToolOutput) else ToolOutput(result)

    def text(self, name: str, /, **arguments: Any) -> str:
        """What a call that works gives."""
        result = self.call(name, **arguments)
        assert not result.is_error, result.content
        return result.content

    def refusal(self, name: str, /, **arguments: Any) -> str:
        """The words of a call that doesn't."""
        result = self.call(name, **arguments)
        assert result.is_error, result.content
        return result.content

    def preview(self, name: str, /, **arguments: Any) -> str | None:
        tool = self.tools.get(name)
        assert tool is not None
        assert tool.preview is not None
        return tool.preview(arguments, self.context(name))

    def caution(self, name: str, /, **arguments: Any) -> str | None:
        tool = self.tools.get(name)
        assert tool is not None
        assert tool.caution is not None
        return tool.caution(arguments, self.context(name))

    def protected(self, name: str, /, **arguments: Any) -> str | None:
        tool = self.tools.get(name)
        assert tool is not None
        assert tool.protected is not None
        return tool.protected(arguments, self.context(name))

    def close(self) -> None:
        self.session.close()
