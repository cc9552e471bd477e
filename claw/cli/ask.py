"""Asker: the approver for a terminal. It shows all of what will happen, then asks for one key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from claw.approval import Decision, Rules, command_line, grant_of
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
LONGEST_REMEDY = 200  # characters; a longer one is no rule that anybody would write down


class Asker(Rules):
    """Approver: what the policy settles is settled, the rest is a question.

    The whole command or the whole diff is shown, never folded or cut, with every character that
    can't be seen made visible, indented so that it can't pass for claw's own words.
    """

    def __init__(
        self, terminal: Terminal, *, cwd: Path, settings: PolicySettings, paint: Paint = plain
    ) -> None:
        super().__init__(cwd=cwd, settings=settings)
        self._terminal = terminal
        self._folder = cwd
        self._paint = paint

    def about_repeat(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        """The engine's on_repeat. What the policy allows is asked about here; of what it asks
        about anyway only the repetition is told, so that one yes is enough."""
        verdict = self.verdict(call, tool, cancel)
        if verdict.answer is Answer.ALLOW:
            return self._put([REPEATED], call, tool, "ynw", cancel)
        if verdict.answer is Answer.ASK:
            self._terminal.tell(f"{self._paint(REPEATED, 'caution')}\n")
        return Decision(verdict.answer is Answer.ASK, verdict.reason)

    def ask(self, call: ToolCall, tool: Tool, cancel: CancelToken, verdict: Verdict) -> Decision:
        keys = "yanw" if verdict.grantable else "ynw"
        return self._put(_why(verdict), call, tool, keys, cancel)

    def _put(
        self, why: Sequence[str], call: ToolCall, tool: Tool, keys: str, cancel: CancelToken
    ) -> Decision:
        key = ask_key(self._terminal, self._question(why, call, tool, keys, cancel), keys, cancel)
        if key == "w":
            return Decision(False, ask_words(self._terminal, "tell the model: ", cancel))
        if key == "a":
            self.grant(call, tool)
            self._terminal.tell(f"allowed for this session: {_covered(call, tool)}\n")
        return Decision(key in "ya")

    def _question(
        self, why: Sequence[str], call: ToolCall, tool: Tool, keys: str, cancel: CancelToken
    ) -> str:
        context = ToolContext(call, cancel, self._folder)
        preview = tool.preview(call.arguments, context) if tool.preview else None
        what = paint_diff(visible(preview or _in_words(call, tool)).rstrip("\n"), self._paint)
        head = f"{visible(call.name)} wants to run in {visible(str(self._folder))}:"
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
    """Why it is asked, and what would spare the user the question."""
    lines = [f"why: {verdict.reason}"] if verdict.reason else []
    if verdict.remedy and len(verdict.remedy) <= LONGEST_REMEDY:
        lines.append(f"to allow all that begins so: {verdict.remedy} in config.toml")
    return lines


def _in_words(call: ToolCall, tool: Tool) -> str:
    """A command as it is, with what else was given behind it; other arguments as JSON."""
    command = command_line(call, tool)
    if not command:
        return json.dumps(dict(call.arguments), indent=2, ensure_ascii=False)
    more = [
        f"{name}: {json.dumps(value)}"
        for name, value in call.arguments.items()
        if name != tool.command and value is not None
    ]
    return "\n".join([command, *(["", *more] if more else [])])


def _covered(call: ToolCall, tool: Tool) -> str:
    """What `a` will let pass, in words."""
    return visible(grant_of(call, tool).about(shown_above=True))
