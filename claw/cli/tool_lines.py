"""Tool calls and results as lines on a terminal: a call in one line, a result in a few."""

from __future__ import annotations

import json

from claw.cli.columns import cut
from claw.cli.style import Paint, Role, is_diff, paint_diff
from claw.cli.visible import shown, visible
from claw.messages import ToolCall

HEAD, TAIL = 4, 2
WHOLE = ("todo",)  # tools whose results the user wants to see to the last line
SHORT = 60  # characters of an argument that isn't the key one


def call_line(call: ToolCall, width: int) -> str:
    """The tool's name and its arguments: the first as it is, other short ones by name.

    What can't be seen is spelled, as in a question: this may be all that is shown of the call.
    """
    words = [call.name]
    given = {name: value for name, value in call.arguments.items() if value is not None}
    for index, (name, value) in enumerate(given.items()):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        structure, long = isinstance(value, list | dict), len(text) > SHORT or "\n" in text
        if (index and (structure or long)) or (structure and long):
            continue
        words.append(text if index == 0 else f"{name}={text}")
    return cut(" ".join(visible(" ".join(words)).split()), width)


def result_lines(
    content: str, width: int, paint: Paint, *, is_error: bool, whole: bool = False
) -> list[str]:
    """The first and last lines of a result, each cut to `width`, and how many were left out.

    A diff is what the user wants to see of an edit: all its lines are there, as with `whole`.
    """
    text = shown(content).strip("\n")
    if is_diff(text):
        return [f"  {line}" for line in paint_diff(text, paint)]
    lines = text.split("\n") if text.strip() else ["(no output)"]
    if is_error and len(lines) == 1:  # what went wrong is worth more than one line
        from textwrap import wrap

        lines = wrap(lines[0], width - 2)
    left_out = len(lines) - HEAD - TAIL
    if left_out > 1 and not whole:
        lines[HEAD:-TAIL] = [f"... {left_out} more lines"]
    role: Role = "error" if is_error else "dim"
    return [paint("  " + cut(line.expandtabs(), width - 2), role) for line in lines]
