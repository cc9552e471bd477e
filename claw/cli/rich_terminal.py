"""Colours, with the `terminal` extra: rich knows whether this terminal has them, and renders."""

from __future__ import annotations

from typing import TextIO

from claw.cli.style import Paint, Role, plain

STYLES: dict[Role, str] = {
    "tool": "cyan",
    "dim": "dim",
    "error": "red",
    "notice": "yellow",
    "question": "bold",
    "caution": "bold yellow",
    "added": "green",
    "removed": "red",
    "place": "cyan",
}


def painter_for(stream: TextIO, *, color: bool) -> Paint:
    """Paints for `stream` where rich is installed, colour is wanted and the terminal has it."""
    if not (color and stream.isatty()):
        return plain
    try:
        from rich.color import ColorSystem
        from rich.console import Console
        from rich.style import Style
    except ImportError:
        return plain
    if Console(file=stream).color_system is None:
        return plain
    styles = {role: Style.parse(words) for role, words in STYLES.items()}

    def paint(text: str, role: Role) -> str:
        return styles[role].render(text, color_system=ColorSystem.STANDARD)

    return paint
