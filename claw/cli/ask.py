"""Asker: the approver for a terminal. It shows all of what will happen, then asks for one key."""

from __future__ import annotations

import json
from pathlib import Path

from claw.approval import Decision, Rules, grant_of
from claw.cancel import CancelToken
from claw.cli.question import ask_key, ask_words
from claw.cli.style import Paint, paint_diff, plain
from claw.cli.terminal import Terminal
from claw.cli.visible import visible
from claw.messages import ToolCall
from claw.tools.base import Tool, ToolContext

KEYS = "yanw"
REPEATED = "This is the third time in a row that the model makes this very call."


class Asker:
    """Approver: reads in `cwd` and what was granted pass unasked, the rest is a question.

    The whole command or the whole diff is shown, never folded or cut, with every character that
    can't be seen made visible, indented so that it can't pass for claw's own words.
    """

    def __init__(self, terminal: Terminal, *, cwd: Path, paint: Paint = plain) -> None:
        self._terminal = terminal
        self._cwd = cwd
        self._paint = paint
        self._rules = Rules(self._ask, cwd=cwd)
        self._allowed_as_repeat: ToolCall | None = None

    def __call__(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        if call is self._allowed_as_repeat:
            return Decision(True)
        return self._rules(call, tool, cancel)

    def about_repeat(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        """The engine's on_repeat: asks whatever was granted. One yes is enough for such a call."""
        decision = self._put(self._question(call, tool, cancel, REPEATED), call, cancel)
        self._allowed_as_repeat = call if decision.allowed else None
        return decision

    def _ask(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        return self._put(self._question(call, tool, cancel), call, cancel)

    def _put(self, question: str, call: ToolCall, cancel: CancelToken) -> Decision:
        key = ask_key(self._terminal, question, KEYS, cancel)
        if key == "w":
            return Decision(False, ask_words(self._terminal, "tell the model: ", cancel))
        if key == "a":
            self._rules.grant(call)
            self._terminal.tell(f"allowed for this session: {_covered(call)}\n")
        return Decision(key in "ya")

    def _question(self, call: ToolCall, tool: Tool, cancel: CancelToken, why: str = "") -> str:
        context = ToolContext(call, cancel, self._cwd)
        preview = tool.preview(call.arguments, context) if tool.preview else None
        what = paint_diff(visible(preview or _in_words(call)).rstrip("\n"), self._paint)
        caution = tool.caution(call.arguments, context) if tool.caution else None
        warnings = [visible(words) for words in (why, caution) if words]
        head = f"{visible(call.name)} wants to run in {visible(str(self._cwd))}:"
        lines = [
            self._paint(head, "question"),
            "",
            *(f"    {line}" for line in what),
            "",
            *(self._paint(words, "caution") for words in warnings),
            "y  yes, once",
            f"a  yes, for this session: {_covered(call)}",
            "n  no",
            "w  no, with words for the model",
        ]
        return "\n".join(lines) + "\n"


def _in_words(call: ToolCall) -> str:
    """The arguments: a command by itself as it is, anything else as JSON."""
    command = call.arguments.get("command")
    if isinstance(command, str) and len(call.arguments) == 1:
        return command
    return json.dumps(dict(call.arguments), indent=2, ensure_ascii=False)


def _covered(call: ToolCall) -> str:
    """What `a` will let pass: the same as `claw.approval.grant_of`, in words."""
    name, _ = grant_of(call)
    return "exactly this command" if name == "bash" else f"every {visible(name)} call"
