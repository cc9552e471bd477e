"""Rules: the words that commands begin with, to allow them or to deny them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum

from claw.errors import ConfigError
from claw.policy.command_line import parse
from claw.policy.handover import base_name, hands_over, start_of_inner
from claw.policy.harmless import only_harmless
from claw.policy.verdict import Rule
from claw.policy.words import UNKNOWN, Words, operand_places, word_set
from claw.values import frozen

# Options that stand before a program's subcommand and take the next word.
VALUED_BEFORE_SUBCOMMAND = {
    "docker": word_set("-c --context -H --host --config -l --log-level"),
    "git": word_set(
        "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source"
    ),
    "kubectl": word_set("-n --namespace --context --kubeconfig --cluster -s --server"),
    "npm": word_set("--prefix -C --userconfig"),
}
# The same option or subcommand under another name.
TWINS = {
    "chgrp": {"--recursive": "-R"},
    "chmod": {"--recursive": "-R"},
    "chown": {"--recursive": "-R"},
    "cp": {"--recursive": "-r", "-R": "-r", "--force": "-f"},
    "git": {
        "--force": "-f",
        "--delete": "-d",
        "--no-verify": "-n",
        "send-pack": "push",
        "http-push": "push",
        "fetch-pack": "fetch",
        "http-fetch": "fetch",
    },
    "ln": {"--force": "-f"},
    "mv": {"--force": "-f"},
    "rm": {"--recursive": "-r", "-R": "-r", "--force": "-f"},
}
# What gives programs other names.
RENAMES = word_set("alias enable hash")
LONGEST_CLUSTER = 4
VERSION = "0123456789."  # at the end of a program's name: python3.11

# What a shell makes other words of, in a word without quotes and variables.
BARE_WORD = re.compile(r"[^\s;|&<>'\"`$=]+")
PATTERN_SIGNS = frozenset("*?[{")
PATTERN = re.compile(r"[*?@+!]?\([^()]*\)|\[[^]]*\]|[*?]")
LONGEST_NAME = 255  # of a file; a word with patterns that is longer isn't looked at closely


class Match(IntEnum):
    """Whether a command is one that a rule denies."""

    NO = 0
    MAYBE = 1
    YES = 2


def rule_of(text: str) -> Rule:
    """The rule that a line of the settings means; ConfigError when it isn't plain words."""
    line = parse(text)
    if line.doubt or len(line.commands) != 1:
        what = line.doubt or "more than one command"
        raise ConfigError(
            f"the rule {text!r} has {what}: a rule is the plain words that a command begins with, "
            'such as "git status"'
        )
    return line.commands[0]


def allows(rule: Rule, words: Words) -> bool:
    """Whether an allow rule covers a plain command."""
    if not rule or words[: len(rule)] != rule:
        return False
    start = start_of_inner(words) if hands_over(words) else 0
    if start is None or len(rule) <= start:  # a rule for `env` alone isn't one for what env runs
        return False
    return only_harmless(words[start:], len(rule) - start)


@frozen
class Text:
    """A line as text, for what may be meant by it. flat: without quotes and backslashes, in small
    letters. patterns: its words that a shell makes other words of."""

    flat: str
    patterns: Words

    @classmethod
    def of(cls, text: str) -> Text:
        flat = re.sub(r"\\\n|[\\'\"]", "", text).casefold()
        words = BARE_WORD.findall(text) if PATTERN_SIGNS & set(text) else []
        return cls(flat, tuple({word for word in words if PATTERN_SIGNS & set(word)}))


def denied_by(rule: Rule, commands: Iterable[Words], text: Text, *, whole: bool) -> Match:
    """How sure it is that a line with these commands, those inside of others too, runs what `rule`
    denies.

    Its plain words are looked for in order, its options in any place, past options that stand
    between and through wrappers. text: where a mention of the rule's words leaves a doubt. whole:
    the commands are all there are; else a mention is enough.
    """
    if not rule:
        return Match.NO
    usual = _with_usual_names(rule)
    found = max((_match(usual, words) for words in commands), default=Match.NO)
    if found is Match.YES:
        return found
    if mentions(rule, text) or mentions(usual, text):
        return Match.MAYBE if whole else Match.YES
    may_be = any(_may_become(rule[0], word) for word in text.patterns)
    return Match.MAYBE if may_be else found


def mentions(rule: Rule, text: Text) -> bool:
    """Whether the rule's plain words stand in the text in order, whatever is between them, and
    something like its options."""
    words = [word.casefold() for word in (base_name(rule[0]), *_plain(rule[1:]))]
    if not all(word in text.flat for word in words):  # much faster than the search below
        return False
    rest = text.flat
    for word in words:
        found = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-]|\.\w)", rest)
        if found is None:
            return False
        rest = rest[found.end() :]
    return all(_option_mentioned(word, text.flat) for word in rule[1:] if word[:1] == "-")


def _option_mentioned(option: str, text: str) -> bool:
    """Whether the text has an option's beginning, or one of its letters in a cluster, or any long
    option, which may be its other name."""
    if option[:2] == "--":
        return option[:3].casefold() in text
    letters = re.escape(option[1:].casefold())
    return re.search(rf"(?<![\w-])-(\w*[{letters}]|-\w)", text) is not None


def _may_become(program: str, word: str) -> bool:
    """Whether a word with patterns, and with some letters of its own, may become the program."""
    head, _, rest = word.partition("{")
    _, closed, tail = rest.rpartition("}")
    # Braces may hold a part of the name, or the end of its folder.
    spellings = (f"{head}*{tail}", f"{head}/*{tail}") if closed else (word,)
    return any(_fits(base_name(spelled), base_name(program)) for spelled in spellings)


def _fits(pattern: str, name: str) -> bool:
    if len(pattern) > LONGEST_NAME:
        return True
    parts = [re.escape(part) for part in PATTERN.split(pattern)]
    if len(parts) == 1 or not any(parts):
        return False
    middle = "".join(f"(?>.*?{part})" for part in parts[1:-1])  # no way back, so no explosion
    return re.fullmatch(f"{parts[0]}{middle}.*{parts[-1]}", name) is not None


def _with_usual_names(words: Words) -> Words:
    """The words with options, and subcommands that are twins, under one name; clusters apart."""
    twins = TWINS.get(base_name(words[0]), {})
    if not twins:
        return words
    usual = [words[0]]
    for word in words[1:]:
        is_cluster = re.fullmatch(r"-[A-Za-z]{2,}", word)
        each = [f"-{letter}" for letter in word[1:]] if is_cluster else [word]
        usual += [twins.get(option, option) for option in each]
    return tuple(usual)


def _match(rule: Rule, words: Words) -> Match:
    name = base_name(words[0])
    if name == UNKNOWN or (name in RENAMES and UNKNOWN in words):
        return Match.MAYBE
    program = base_name(rule[0])
    if name.startswith(f"{program}-") and _plain(rule[1:]):  # git-push
        words = (program, name.removeprefix(f"{program}-"), *words[1:])
        name = program
    if name != program:
        return Match.MAYBE if name.rstrip(VERSION) == program.rstrip(VERSION) else Match.NO
    words = _with_usual_names(words)
    valued = VALUED_BEFORE_SUBCOMMAND.get(name, frozenset())
    operands = tuple(words[place] for place in operand_places(words, valued))
    plain = _plain(rule[1:])
    for place, wanted in enumerate(plain):
        if UNKNOWN in operands[: place + 1]:
            return Match.MAYBE
        if operands[place : place + 1] != (wanted,):
            return Match.NO
    options = [word for word in rule[1:] if word not in plain]
    found = min((_has_option(option, words[1:]) for option in options), default=Match.YES)
    if found is Match.NO and name not in TWINS and _may_be_twins(options, words[1:]):
        return Match.MAYBE
    return found


def _plain(words: Iterable[str]) -> Words:
    return tuple(word for word in words if word[:1] != "-")


def _has_option(option: str, words: Words) -> Match:
    """Whether an option of a rule is among the words, by itself or in a cluster like -rf."""
    name = option.partition("=")[0]
    if any(word == option or word.startswith(f"{option}=") for word in words):
        return Match.YES
    clusters = [word[1:] for word in words if re.fullmatch(r"-\w+", word)]
    is_cluster = re.fullmatch(r"-\w+", option) and len(option) <= LONGEST_CLUSTER
    if is_cluster and set(option[1:]) <= set("".join(clusters)):
        return Match.YES
    # A long option may be the long name of a short one, or be shortened itself.
    longs = [word.partition("=")[0] for word in words if word[:2] == "--" and word != "--"]
    may_be = [word for word in longs if option[:2] != "--" or name.startswith(word)]
    return Match.MAYBE if may_be or UNKNOWN in words else Match.NO


def _may_be_twins(options: Iterable[str], words: Words) -> bool:
    """Whether a short option may be the short name of a rule's long one."""
    is_short = any(word[:1] == "-" and word[1:2] not in ("", "-") for word in words)
    return is_short and any(option[:2] == "--" for option in options)
