"""The slash commands about the session: /undo, /resume, /fork, /export."""

from __future__ import annotations

import time
from collections.abc import Sequence
from shutil import get_terminal_size

from claw.cli.columns import cut
from claw.cli.planning import planning_prompt
from claw.cli.sessions import export_session
from claw.cli.sitting import Sitting
from claw.cli.visible import shown
from claw.engine.summary import INTRODUCTION
from claw.errors import ConfigError
from claw.messages import Message
from claw.session import Session
from claw.store import SessionStore, StoredSession
from claw.store.export import Form
from claw.tools.state import FILES_FAMILY
from claw.tools.undo import undo_in

LISTED = 15
NOT_KEPT = "nothing of this conversation is kept on disk (--no-session)"


def undo(sitting: Sitting, argument: str) -> None:
    """Takes the last turn out of the conversation, and puts back the files that it wrote."""
    session = sitting.bench.session
    log = undo_in(session.state(FILES_FAMILY))
    turn, prompt = sitting.asked[-1] if sitting.asked else (log.turn, None)
    wrote = log.last_written
    for line in log.undo_turn() if wrote is not None and wrote >= turn else ():
        sitting.say(line)
    if log.last_written is not None and log.last_written >= turn:
        return  # something couldn't be put back yet
    if sitting.asked:
        sitting.asked.pop()
    starts = _prompts(session.messages)
    start = next((i for i in reversed(starts) if prompt in (None, session.messages[i].text)), None)
    if start is None:
        sitting.say("there is no turn to take back")
        return
    words = _words(session.messages[start])
    session.rewind(start)
    sitting.say(f"no longer part of the conversation: {_first_words(words)}")


def resume(sitting: Sitting, argument: str) -> None:
    """Lists the last sessions; with a number of that list or an id, goes on with that one."""
    store = _store(sitting)
    infos = store.list()[:LISTED]
    if not argument:
        for number, info in enumerate(infos, start=1):
            when = time.strftime("%b %d %H:%M", time.localtime(info.updated))
            here = "*" if info.id == sitting.bench.session.id else " "
            sitting.say(_cut(f"{here} {number:2}  {when}  {info.cwd}  {info.title}"))
        sitting.say("/resume N goes on with one" if infos else "there are no sessions yet")
        return
    is_number = argument.isdecimal() and 0 < int(argument) <= len(infos)
    chosen = infos[int(argument) - 1] if is_number else store.find(argument)
    if chosen.id == sitting.bench.session.id:
        sitting.say("this is that session")
        return
    sitting.go_on_with(store.open(chosen.id))
    count = len(sitting.bench.session.messages)
    sitting.say(f"session {sitting.bench.session.id}, {count} messages: {chosen.title}")


def fork(sitting: Sitting, argument: str) -> None:
    """Lists the user's prompts; with a number, begins a new session right before that one, which
    is put into the prompt."""
    messages = sitting.bench.session.messages
    starts = _prompts(messages)
    if not argument:
        for number, start in enumerate(starts, start=1):
            sitting.say(_cut(f"  {number:2}  {_first_words(_words(messages[start]))}"))
        sitting.say("/fork N goes on from there" if starts else "nothing was said yet")
        return
    if not (argument.isdecimal() and 0 < int(argument) <= len(starts)):
        raise ConfigError(f"there is no prompt {shown(argument)}: /fork lists them")
    start = starts[int(argument) - 1]
    store, before = sitting.bench.store, messages[:start]
    sitting.go_on_with(
        store.fork(sitting.bench.session, start) if store is not None else Session(before)
    )
    sitting.given_back = shown(_words(messages[start]))
    sitting.say(f"a new session with {len(before)} messages")


def export(sitting: Sitting, argument: str) -> None:
    """Shows the conversation as Markdown, or writes it to a new file (JSON where it ends so)."""
    store, session = _store(sitting), sitting.bench.session
    if not (isinstance(session, StoredSession) and session.id and session.messages):
        sitting.say("nothing was said yet")
        return
    session.save()
    form: Form = "json" if argument.endswith(".json") else "markdown"
    export_session(session.id, form, argument, store=store)
    if argument:
        sitting.say(f"written to {argument}")


def _store(sitting: Sitting) -> SessionStore:
    if sitting.bench.store is None:
        raise ConfigError(NOT_KEPT)
    return sitting.bench.store


def _prompts(messages: Sequence[Message]) -> list[int]:
    """Where the user said something, also in the middle of a turn: behind the results of one that
    was interrupted a prompt looks the same. A summary's message isn't the user's."""
    return [
        index
        for index, message in enumerate(messages)
        if message.role == "user" and not message.text.startswith(INTRODUCTION)
    ]


def _words(message: Message) -> str:
    """What the user typed for it."""
    return message.text.removeprefix(planning_prompt(""))


def _first_words(text: str) -> str:
    return cut(" ".join(text.split()), 60)


def _cut(line: str) -> str:
    return cut(" ".join(shown(line).splitlines()), get_terminal_size().columns - 1)
