"""The decision about a call: one function of the call and the settings, pure but for the time
limit of reading a command line (grammar.py)."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import replace

from claw.policy.command_line import CommandLine, parse
from claw.policy.handover import all_commands, base_name, without_timeout
from claw.policy.read_only import is_outside, read_only
from claw.policy.rules import Match, Text, allows, denied_by
from claw.policy.verdict import (
    ALLOWED,
    Answer,
    Grant,
    Kind,
    PolicySettings,
    Request,
    Rule,
    Verdict,
)
from claw.policy.words import PLAIN, Words

MOST_RULES = 20  # in a remedy: nobody reads more
NOTHING_IS_ASKED = "and with approvals set to none nothing is asked"


def judge(request: Request, settings: PolicySettings) -> Verdict:
    """Whether a call runs, is asked about, or is refused.

    In this order: what a deny rule is sure about; what mode `none` and planning leave; what is
    protected; what a deny rule may be about; what passes unasked.
    """
    is_command = request.kind is Kind.COMMAND
    line = parse(request.command_line) if is_command else CommandLine(())
    denied, rule = _denied(request, line, settings)
    words = json.dumps(" ".join(rule), ensure_ascii=False)
    if denied is Match.YES:
        return Verdict(Answer.DENY, f"the rule deny = [{words}] forbids it")
    if settings.planning or settings.mode == "none":
        return _only_reads(request, line, settings)
    if request.protected:
        return Verdict(Answer.ASK, request.protected)
    granted = Grant(request.name, request.command_line) in settings.granted
    if denied is Match.MAYBE and not granted:
        grantable = settings.mode == "all" or not request.caution
        reason = f"the rule deny = [{words}] may be about it"
        return Verdict(Answer.ASK, reason, grantable=grantable)
    if settings.mode == "all":
        return ALLOWED
    if request.caution:
        return Verdict(Answer.ASK, request.caution)
    if granted:
        return ALLOWED
    return _command(line, settings) if is_command else _tool(request, settings)


def leads_out(path: str, real: str, settings: PolicySettings) -> Verdict:
    """The verdict about a command that would pass, had one of its `reads` not been found to lead
    out of the workspace."""
    return _reads_out(f"{path} leads out of the workspace, to {real}", settings)


def _denied(request: Request, line: CommandLine, settings: PolicySettings) -> tuple[Match, Rule]:
    """The surest match among the deny rules, and its rule."""
    if (request.name,) in settings.deny:
        return Match.YES, (request.name,)
    if request.kind is not Kind.COMMAND or not settings.deny:
        return Match.NO, ()
    text = Text.of(request.command_line if line.doubt else _not_only_reading(line, settings))
    commands, all_found = all_commands(line.commands)
    whole = line.whole and all_found
    return max((denied_by(rule, commands, text, whole=whole), rule) for rule in settings.deny)


def _not_only_reading(line: CommandLine, settings: PolicySettings) -> str:
    """The commands that could hand their words over to another program; `grep curl` doesn't."""
    risky = [words for words in line.commands if read_only(words, settings.folders).problem]
    return "\n".join(" ".join(words) for words in risky)


def _only_reads(request: Request, line: CommandLine, settings: PolicySettings) -> Verdict:
    """What planning and mode `none` leave. The claw command then offers no tool that runs commands;
    another host of this policy may, and those that only read pass."""
    verdict = ALLOWED
    reads = request.kind is Kind.READ
    if request.kind is Kind.COMMAND:
        verdict = _command(line, replace(settings, allow=(), contained=False))
        reads = verdict.answer is Answer.ALLOW
    if reads:
        warning = request.protected or request.caution
        return _reads_out(warning, settings) if warning else verdict
    if settings.planning:
        return Verdict(Answer.DENY, "a plan is being made: only reading until the user says go")
    return Verdict(Answer.DENY, f"it does more than read, {NOTHING_IS_ASKED}")


def _reads_out(reason: str, settings: PolicySettings) -> Verdict:
    """About reading that isn't simply reading in the workspace."""
    if settings.mode == "none":
        return Verdict(Answer.DENY, f"{reason}, {NOTHING_IS_ASKED}")
    return Verdict(Answer.ASK, reason, grantable=not settings.planning)


def _tool(request: Request, settings: PolicySettings) -> Verdict:
    if request.kind is Kind.READ or (request.name,) in settings.allow:
        return ALLOWED
    if request.kind is Kind.EDIT and settings.mode == "edits":
        return ALLOWED
    changes_files = request.kind is Kind.EDIT
    why = "it changes a file" if changes_files else f"{request.name} may change something"
    return _asked(why, _remedy([(request.name,)]))


def _command(line: CommandLine, settings: PolicySettings) -> Verdict:
    if settings.contained and settings.mode == "edits":
        return ALLOWED
    if line.doubt:
        return _asked(line.doubt)
    problems, reads = _look_at(line.commands, settings)
    if not problems:
        return Verdict(Answer.ALLOW, reads=reads)
    rules = [words for words, _ in problems]
    if len(rules) > MOST_RULES:
        return _asked(problems[0][1])
    enough = not _look_at(line.commands, replace(settings, allow=(*settings.allow, *rules)))[0]
    return _asked(problems[0][1], _remedy(rules) if enough else "")


def _asked(reason: str, remedy: str = "") -> Verdict:
    return Verdict(Answer.ASK, reason, remedy, grantable=True)


def _look_at(
    commands: Sequence[Words], settings: PolicySettings
) -> tuple[list[tuple[Words, str]], tuple[str, ...]]:
    """The commands that don't pass, with why; and the paths that the others read."""
    folder = _folder_entered(commands[0], settings.folders)
    moved = bool(folder) and folder not in settings.folders[:1]
    problems: list[tuple[Words, str]] = []
    reads: list[str] = [folder] if folder else []
    for words in commands[1:] if folder else commands:
        if _is_allowed(words, settings.allow, moved=moved):
            continue
        reading = read_only(words, settings.folders)
        if reading.problem:
            problems.append((words, reading.problem))
        # Whether the cd worked isn't known, so each path may be meant in either folder.
        starts = ("", folder) if folder else ("",)
        reads += [posixpath.join(start, path) for start in starts for path in reading.paths]
    return problems, tuple(dict.fromkeys(reads))


def _folder_entered(words: Words, roots: Sequence[str]) -> str:
    """Where `cd FOLDER` at the start of a line goes, if that is surely in the workspace."""
    if len(words) == 2 and words[0] == "cd" and words[1][:1] != "-":
        return "" if is_outside(words[1], roots) else words[1]
    return ""


def _is_allowed(words: Words, rules: Iterable[Rule], *, moved: bool) -> bool:
    inner = without_timeout(words)
    if moved and (base_name(inner[0]) == "git" or inner[0] == "." or "/" in inner[0]):
        return False  # another folder's script, or another repository with programs of its own
    return any(allows(rule, words) or allows(rule, inner) for rule in rules)


def _remedy(rules: Sequence[Words]) -> str:
    """The line of the settings file that holds these rules; "" where one can't be written."""
    if any("'" in word and set(word) & set('"$`\\') for words in rules for word in words):
        return ""  # quotes that are plain can't hold it
    texts = dict.fromkeys(" ".join(map(_quoted, words)) for words in rules)
    return f"allow = [{', '.join(json.dumps(text, ensure_ascii=False) for text in texts)}]"


def _quoted(word: str) -> str:
    if PLAIN.fullmatch(word):
        return word
    return f'"{word}"' if "'" in word else f"'{word}'"
