"""Rules: the words that commands begin with, to allow them or to deny them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum

from claw.errors import ConfigError
from claw.policy.command_line import CommandLine, parse
from claw.policy.handover import all_commands, base_name, hands_over, start_of_inner
from claw.policy.risky import risky_word
from claw.policy.verdict import Rule
from claw.policy.words import UNKNOWN, Words, operand_places, word_set

# Options that stand before a program's subcommand and take the next word.
VALUED_BEFORE_SUBCOMMAND = {
    "docker": word_set("-c --context -H --host --config -l --log-level"),
    "git": word_set(
        "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source"
    ),
    "kubectl": word_set("-n --namespace --context --kubeconfig --cluster -s --server"),
    "npm": word_set("--prefix -C --userconfig"),
}
LONGEST_CLUSTER = 4
SHORTEST_ABBREVIATION = 4


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
    if not rule or words[: len(rule)] != rule or risky_word(words[0], words[len(rule) :]):
        return False
    if not hands_over(words):
        return True
    start = start_of_inner(words)  # a rule for `env` alone isn't one for what env runs
    return start is not None and len(rule) > start


def denied_by(rule: Rule, line: CommandLine, text: str) -> Match:
    """How sure it is that a line runs what `rule` denies.

    Its plain words are looked for in order, its options in any place, past options that stand
    between and through wrappers. text: where a mention of the rule's words leaves a doubt.
    """
    if not rule:
        return Match.NO
    found = max((_match(rule, words) for words in all_commands(line.commands)), default=Match.NO)
    if found is not Match.YES and mentions(rule, text):
        return Match.MAYBE if line.whole else Match.YES
    return found


def mentions(rule: Rule, text: str) -> bool:
    """Whether the rule's plain words stand in the text in order, whatever is between them, and
    something like its options."""
    rest = text = re.sub(r"\\\n|[\\'\"]", "", text).casefold()
    for word in (base_name(rule[0]), *_plain(rule[1:])):
        found = re.search(rf"(?<![\w-]){re.escape(word.casefold())}(?![\w-]|\.\w)", rest)
        if found is None:
            return False
        rest = rest[found.end() :]
    return all(_option_mentioned(word, text) for word in rule[1:] if word[:1] == "-")


def _option_mentioned(option: str, text: str) -> bool:
    """Whether the text has an option's beginning, or one of its letters in a cluster."""
    if option[:2] == "--":
        return option[:3].casefold() in text
    return re.search(rf"(?<![\w-])-\w*[{re.escape(option[1:].casefold())}]", text) is not None


def _match(rule: Rule, words: Words) -> Match:
    if words[0] == UNKNOWN:
        return Match.MAYBE
    name = base_name(words[0])
    if name != base_name(rule[0]):
        return Match.NO
    valued = VALUED_BEFORE_SUBCOMMAND.get(name, frozenset())
    operands = tuple(words[place] for place in operand_places(words, valued))
    plain = _plain(rule[1:])
    for place, wanted in enumerate(plain):
        if UNKNOWN in operands[: place + 1]:
            return Match.MAYBE
        if operands[place : place + 1] != (wanted,):
            return Match.NO
    options = [word for word in rule[1:] if word not in plain]
    return min((_has_option(option, words[1:]) for option in options), default=Match.YES)


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
    shortened = any(
        len(word) >= SHORTEST_ABBREVIATION and name.startswith(word.partition("=")[0])
        for word in words
        if word[:2] == "--"
    )
    return Match.MAYBE if shortened or UNKNOWN in words else Match.NO
