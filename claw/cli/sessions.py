"""`claw sessions`: the conversations on this machine: list, show, remove, export."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from claw.cli.columns import cut
from claw.cli.failures import tell
from claw.cli.places import find_places
from claw.cli.style import plain
from claw.cli.tool_lines import call_line, result_lines
from claw.cli.visible import shown
from claw.errors import ConfigError
from claw.messages import Block, Message, TextBlock, ToolCall, ToolResult
from claw.store import SessionInfo, SessionStore
from claw.store.export import Form

NARROW = 110  # columns below which a list has no room for whole ids
ENDLESS = 10_000  # columns of a file


def user_sessions() -> SessionStore:
    """The sessions of this user, to look at."""
    return SessionStore(find_places(os.environ).sessions)


def list_sessions(*, as_json: bool = False, search: str = "") -> int:
    """Prints a session a line, the last used first; with `search`, those where it was said."""
    store = user_sessions()
    titles: dict[SessionInfo, str]
    if search:
        titles = {}
        for hit in store.search(search):
            titles.setdefault(hit.info, hit.snippet)
    else:
        titles = {info: info.title for info in store.list()}
    if as_json:
        found = [asdict(info) for info in titles]
        sys.stdout.write(json.dumps({"sessions": found}) + "\n")
        return 0
    if not titles:
        tell("there are no sessions" if not search else shown(f"nothing was found: {search}"))
    width = _width()
    sys.stdout.writelines(_row(info, title, width) for info, title in titles.items())
    return 0


def show_session(prefix: str) -> int:
    """Prints a conversation as it stood on the terminal, long results shortened."""
    replayed = user_sessions().load(prefix)
    for line in replayed.notices():
        tell(shown(line))
    width = _width()
    for message in replayed.session.messages:
        for block in message.blocks:
            for line in _lines_of(message, block, width):
                sys.stdout.write(f"{line}\n")
    return 0


def remove_sessions(prefixes: Sequence[str], *, sure: bool = False) -> int:
    """Removes sessions, each by its id or the beginning of it. Asks before, unless `sure`."""
    store = user_sessions()
    infos = [store.find(prefix) for prefix in prefixes]
    if not sure and not _agreed(infos):
        return 0
    for info in infos:
        store.remove(info.id)
    return 0


def export_session(
    prefix: str, form: Form, to: str = "", *, store: SessionStore | None = None
) -> int:
    """Writes a conversation to standard output, or to a new file for the user's eyes only."""
    pieces = (store or user_sessions()).export(prefix, form)
    if not to:
        fit = shown if sys.stdout.isatty() else str
        for piece in pieces:
            sys.stdout.write(fit(piece.encode("utf-8", "replace").decode()))
        return 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with open(os.open(Path(to).expanduser(), flags, 0o600), "wb") as file:
            for piece in pieces:
                file.write(piece.encode("utf-8", "replace"))
    except OSError as error:
        if error.errno == errno.EEXIST:
            raise ConfigError(f"{to} is there already: name a new file") from error
        raise ConfigError(f"{to} can't be written: {error.strerror}") from error
    return 0


def _row(info: SessionInfo, title: str, width: int) -> str:
    """Id, when it was last used, folder, model, size, title: cut to the terminal's width. Where
    that is small the id's last part, which is enough, leaves room for the title."""
    narrow = width < NARROW
    name = info.id.rpartition("-")[2] if narrow else info.id
    when = time.strftime(
        "%b %d %H:%M" if narrow else "%Y-%m-%d %H:%M", time.localtime(info.updated)
    )
    room, model_room = (16, 12) if narrow else (24, 18)
    folder, model = _short_folder(info.cwd, room), cut(info.model, model_room)
    head = f"{name}  {when}  {folder:{room}}  {model:{model_room}}  {_size(info.size):>7}"
    return cut(" ".join(shown(f"{head}  {title}").splitlines()), width) + "\n"


def _short_folder(cwd: str, room: int) -> str:
    """The end of a path tells more than its beginning."""
    home = os.path.expanduser("~")
    if cwd == home or cwd.startswith(home + "/"):
        cwd = "~" + cwd[len(home) :]
    return cwd if len(cwd) <= room else "..." + cwd[3 - room :]


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, size // 1000)} kB"


def _lines_of(message: Message, block: Block, width: int) -> list[str]:
    if isinstance(block, TextBlock):
        text = shown(block.text).strip()
        if message.role == "user":
            return ["", *(f"> {line}" for line in text.split("\n"))]
        return ["", text] if text else []
    if isinstance(block, ToolCall):
        return ["", f"[{call_line(block, width - 2)}]"]
    if isinstance(block, ToolResult):
        return result_lines(block.content, width, plain, is_error=block.is_error)
    return []


def _agreed(infos: Sequence[SessionInfo]) -> bool:
    from claw.cli.question import ask_yes_no
    from claw.cli.terminal import Terminal

    terminal = Terminal.of_process()
    if not terminal.can_ask:
        raise ConfigError("there is nobody to ask: add --yes to remove without a question")
    width = _width()
    rows = "".join(_row(info, info.title, width) for info in infos)
    what = "this session" if len(infos) == 1 else f"these {len(infos)} sessions"
    return ask_yes_no(terminal, f"{rows}Remove {what} for good?")


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else ENDLESS
