"""What happens in a nested run, as lines for the outer run's ToolProgress."""

from __future__ import annotations

from claw.messages import ToolCall, ToolResult
from claw.reporter import Reporter

LINE_CHARS = 160


class Lines(Reporter):
    """Its calls, what failed, notices, and what its model says on the way. The last text isn't
    told: it is the result of the call."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._said = ""

    def take(self) -> str:
        """The whole lines since the last time, each with its end."""
        lines, self._lines = self._lines, []
        return "".join(f"{line}\n" for line in lines)

    def on_text_complete(self, text: str) -> None:
        self._said = text

    def on_tool_call(self, call: ToolCall) -> None:
        self._lines += self._said.strip().splitlines()
        self._said = ""
        first = next(iter(call.arguments.values()), "")
        self._lines.append(_one_line(f"* {call.name} {first}"))

    def on_tool_result(self, call: ToolCall, result: ToolResult) -> None:
        if result.is_error:
            self._lines.append(_one_line(f"  {call.name} failed: {result.content}"))

    def on_notice(self, text: str) -> None:
        self._lines.append(_one_line(f"note: {text}"))


def _one_line(text: str) -> str:
    indent = " " * (len(text) - len(text.lstrip(" ")))
    line = indent + " ".join(text[: 4 * LINE_CHARS].split())
    return line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 3]}..."
