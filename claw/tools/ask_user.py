"""ask_user: a question of the model's own to whoever sits at the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

from claw.cancel import CancelToken
from claw.errors import ToolError
from claw.tools.base import Tool, ToolContext, tool

MOST_OPTIONS = 6
QUESTION_CHARS = 2_000
OPTION_CHARS = 200

AskUser: TypeAlias = Callable[[str, tuple[str, ...], CancelToken], str]
"""Contract: `ask(question, options, cancel)` is called on the thread that called Engine.run, and
may block. Both texts are the model's: show them filtered. It returns one of the options or the
user's own words, "" where the user won't say. It should return soon once `cancel` fires, and may
raise Cancelled then; ToolError goes to the model in words. Anything else is reported to the model
as a fault of the tool."""


def ask_user_tool(ask: AskUser | None) -> Tool:
    """The `ask_user` tool; with None there is nobody to ask, and each question is refused."""

    @tool(read_only=True, caller_thread=True)
    def ask_user(
        question: str,
        context: ToolContext,
        options: Annotated[list[str] | None, "At most 6 short answers to choose from"] = None,
    ) -> str:
        """Asks the user, where only they can know: a wish, a choice between ways, a missing fact.

        Not for permission: calls that need it are asked about anyway. Ask one thing at a time.
        """
        if ask is None:
            raise ToolError(
                "nobody is there to answer: decide by yourself and say what you assumed, "
                "or end your turn and say what you need"
            )
        choices = tuple(_line(option) for option in options or ())
        if len(choices) > MOST_OPTIONS:
            raise ToolError(f"{len(choices)} options are too many: {MOST_OPTIONS} at most")
        if len(set(choices)) < len(choices):
            raise ToolError("two options are the same")
        if not question.strip() or len(question) > QUESTION_CHARS:
            raise ToolError(f"a question has 1 to {QUESTION_CHARS:,} characters")
        answer = ask(question.strip(), choices, context.cancel)
        return answer or "the user gave no answer: decide by yourself, or say what you need"

    return ask_user


def _line(option: str) -> str:
    line = " ".join(option.split())
    if not line or len(line) > OPTION_CHARS:
        raise ToolError(f"an option is one line of 1 to {OPTION_CHARS} characters")
    return line
