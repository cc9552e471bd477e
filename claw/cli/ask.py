"""Asker: the approver for a terminal. It shows all of what will happen, then asks for one key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from claw.approval import Decision, Rules
from claw.cancel import CancelToken
from claw.cli.question import ask_key, ask_words
from claw.cli.style import Paint, paint_diff, plain
from claw.cli.terminal import Terminal
from claw.cli.visible import visible
from claw.messages import ToolCall
from claw.policy import Answer, PolicySettings, Verdict
from claw.tools.base import Tool, ToolContext

ANSWERS = {
    "y": "yes, once",
    "a": "yes, for this session: {covered}",
    "n": "no",
    "w": "no, with words for the model",
}
REPEATED = "This is the third time in a row that the model makes this very call."


class Asker:
    """Approver: what the policy settles is settled, the rest is a question.

    The whole command or the whole diff is shown, never folded or cut, with every character that
    can't be seen made visible, indented so that it can't pass for claw's own words.
    """

    def __init__(
        self, terminal: Terminal, *, cwd: Path, settings: PolicySettings, paint: Paint = plain
    ) -> None:
        self._terminal = terminal
        self._cwd = cwd
        self._paint = paint
        self.rules = Rules(self._ask, cwd=cwd, settings=settings)
        self._allowed_as_repeat: ToolCall | None = None

    def __call__(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        if call is self._allowed_as_repeat:
            return Decision(True)
        return self.rules(call, tool, cancel)

    def about_repeat(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        """The engine's on_repeat: asks whatever was granted. One yes is enough for such a call."""
        verdict = self.rules.verdict(call, tool, cancel)
        if verdict.answer is Answer.DENY:
            return Decision(False, verdict.reason)
        decision = self._put([REPEATED, *_why(verdict)], call, tool, cancel)
        self._allowed_as_repeat = call if decision.allowed else None
        return decision

    def _ask(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        return self._put(_why(self.rules.verdict(call, tool, cancel)), call, tool, cancel)

    def _put(self, why: Sequence[str], call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        keys = "yanw" if self.rules.can_grant(call, tool, cancel) else "ynw"
        key = ask_key(self._terminal, self._question(why, call, tool, keys, cancel), keys, cancel)
        if key == "w":
            return Decision(False, ask_words(self._terminal, "tell the model: ", cancel))
        if key == "a":
            self.rules.grant(call, tool)
            self._terminal.tell(f"allowed for this session: {_covered(call, tool)}\n")
        return Decision(key in "ya")

    def _question(
        self, why: Sequence[str], call: ToolCall, tool: Tool, keys: str, cancel: CancelToken
    ) -> str:
        context = ToolContext(call, cancel, self._cwd)
        preview = tool.preview(call.arguments, context) if tool.preview else None
        what = paint_diff(visible(preview or _in_words(call)).rstrip("\n"), self._paint)
        head = f"{visible(call.name)} wants to run in {visible(str(self._cwd))}:"
        lines = [
            self._paint(head, "question"),
            "",
            *(f"    {line}" for line in what),
            "",
            *(self._paint(visible(words), "caution") for words in why),
            *(f"{key}  {ANSWERS[key].format(covered=_covered(call, tool))}" for key in keys),
        ]
        return "\n".join(lines) + "\n"


def _why(verdict: Verdict) -> list[str]:
    return [f"why: {verdict.reason}"] if verdict.reason else []


def _in_words(call: ToolCall) -> str:
    """A command as it is, with what else was given behind it; other arguments as JSON."""
    given = {name: value for name, value in call.arguments.items() if value not in (None, False)}
    command = given.pop("command", None)
    if not isinstance(command, str):
        return json.dumps(dict(call.arguments), indent=2, ensure_ascii=False)
    more = [f"{name}: {json.dumps(value)}" for name, value in given.items()]
    return "\n".join([command, *(["", *more] if more else [])])


def _covered(call: ToolCall, tool: Tool) -> str:
    """What `a` will let pass: the same as `claw.approval.grant_of`, in words."""
    return "exactly this command" if tool.command else f"every {visible(call.name)} call"
