"""Where the REPL's lines come from: prompt_toolkit where it is installed, else Python's readline.

Both raise EOFError for Ctrl-D on an empty line and KeyboardInterrupt for Ctrl-C, take pasted text
of any size as one, and remember what was entered across runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from claw.cli.terminal import Terminal
from claw.errors import ConfigError
from claw.values import frozen

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

PROMPT = "claw> "
MORE = "...   "
TERMINAL_LINE_BYTES = 4095

ReadLine: TypeAlias = Callable[[str, str], str]
"""Contract: shows a prompt with a text typed in already, and returns the line that was entered,
without its end. Called on the main thread."""


@frozen
class Prompt:
    """How a line is read, and the terminal's modes around it. In these what was typed ahead is
    taken first, as far as the prompt wouldn't read it by itself."""

    read: ReadLine
    modes: Callable[[], AbstractContextManager[None]] = nullcontext


def best_prompt(history: Path, terminal: Terminal) -> Prompt:
    """The best there is, on a terminal that is held. What was typed behind an Enter is set aside.
    `history` is a file in a private folder; made when needed."""
    try:
        if os.environ.get("TERM", "dumb") == "dumb":
            raise ImportError("an editor needs a terminal that can move the cursor")
        return Prompt(_prompt_toolkit(_kept(history), keep=terminal.set_aside))
    except ImportError:  # in a file of its own: the two write theirs in different forms
        plain_history = _kept(history.with_name(f"{history.name}_plain"))
        return Prompt(_readline(plain_history), terminal.prompt_modes)


def continued(read: Callable[[str], str]) -> str:
    """A whole input, read line by line: a trailing backslash goes on to the next one."""
    lines = [read(PROMPT)]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        lines.append(read(MORE))
    return "\n".join(lines)


def _prompt_toolkit(history: Path | None, keep: Callable[[str], None]) -> ReadLine:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.output.vt100 import Vt100_Output

    output = Vt100_Output.from_pty(sys.stdout, os.environ.get("TERM"))
    # Never ask where the cursor is: the terminal types its answer, and it may come too late.
    output.enable_cpr = False
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history)) if history else None,
        key_bindings=_backslash_enter(),
        prompt_continuation=lambda width, line, wrapped: "" if wrapped else MORE,
        enable_history_search=True,
        output=output,
    )

    def read(prompt: str, typed: str) -> str:
        try:
            line = session.prompt(prompt, default=typed)
            keep(_typed_behind(session.input))
            return line
        except SystemExit:  # a signal, which may have cut short the event loop's own tidying
            output.disable_bracketed_paste()
            output.enable_autowrap()
            output.reset_attributes()
            output.show_cursor()
            output.write_raw("\r\n")
            output.flush()
            raise

    return read


def _typed_behind(keyboard: Input) -> str:
    """What prompt_toolkit has read behind the Enter and keeps to itself, the beginning of an
    arrow key included. It was typed before all that is still in the terminal."""
    from prompt_toolkit.input.typeahead import get_typeahead

    return "".join(press.data for press in [*get_typeahead(keyboard), *keyboard.flush_keys()])


def _backslash_enter() -> KeyBindings:
    """Enter behind a trailing backslash begins a new line in the same edit."""
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    @bindings.add("enter")
    @bindings.add("c-j")
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.text.endswith("\\") and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    return bindings


def _readline(history: Path | None) -> ReadLine:
    """Python's own `input`: with the readline module it edits, takes long lines and remembers."""
    try:
        import readline
    except ImportError:
        return _bare
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    if not dumb and "libedit" not in (readline.__doc__ or ""):  # which has no such setting
        readline.parse_and_bind("set enable-bracketed-paste on")  # Python turns it off
    if history:
        readline.read_history_file(history)

    def read(prompt: str, typed: str) -> str:
        readline.set_startup_hook(lambda: readline.insert_text(typed))
        try:
            line = _input(prompt)
        finally:
            readline.set_startup_hook(None)
        if history and line.strip():
            with suppress(OSError):
                readline.append_history_file(1, history)
        return line

    return read


def _bare(prompt: str, typed: str) -> str:
    """A Python without readline: the terminal edits the line, and drops what is over 4 kB."""
    line = typed + _input(prompt + typed)
    if len(line.encode("utf-8", "replace")) >= TERMINAL_LINE_BYTES:
        raise ConfigError(
            "not sent: the terminal cuts lines at 4 kB, and this Python has no readline; "
            "pip install 'claw-engine[terminal]' mends it"
        )
    return line


def _input(prompt: str) -> str:
    try:
        return input(prompt)
    except BaseException:  # Ctrl-C, Ctrl-D or a signal: the prompt's line is still open
        sys.stdout.write("\n")
        raise


def _kept(history: Path) -> Path | None:
    """The history holds what was asked: for the user's eyes only. None where it can't be kept."""
    try:
        os.close(os.open(history, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        return None
    return history
