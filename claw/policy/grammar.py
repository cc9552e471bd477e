"""The first reader of a command line: bash's grammar names everything that is in it.

What isn't known to be harmless is a doubt, in words for people. A line with a doubt is read to its
end all the same.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from claw.policy.words import PLAIN, QUIET_REDIRECT, UNKNOWN, Words, word_set

if TYPE_CHECKING:
    from tree_sitter import Node

# What Linux passes to `bash -c` at most, without the NUL at its end: the limit of one argument.
LONGEST = 128 * 1024 - 1
# The grammar's limits, so that no line takes a second or 100 MB. Time is this thread's own, which
# doesn't depend on the load; it isn't looked at while the parser mends a pipe that has no end,
# which costs time and memory with the square of the pipe.
MOST_TIME_S = 0.1
MOST_PIPES = 1_000
MOST_NODES = 10_000
CHUNK_BYTES = 4_096

UNREADABLE = "text that can't be parsed"
NOT_ASCII = re.compile(r"[^\x01-\x7f]")

HARMLESS = word_set(
    "program list pipeline command command_name concatenation raw_string string "
    'redirected_statement file_descriptor > >& &> " && || ; |'
)
DOUBTS = {
    "&": "a background job",
    "ansi_c_string": "a $'...' string",
    "arithmetic_expansion": "arithmetic",
    "brace_expression": "a brace expansion",
    "case_statement": "a condition",
    "command_substitution": "a command substitution",
    "comment": "a comment",
    "compound_statement": "a group of commands",
    "c_style_for_statement": "a loop",
    "declaration_command": "a command that sets variables",
    "expansion": "a variable",
    "for_statement": "a loop",
    "function_definition": "a function",
    "heredoc_redirect": "a here-document",
    "herestring_redirect": "a here-string",
    "if_statement": "a condition",
    "negated_command": "a negation",
    "process_substitution": "a process substitution",
    "simple_expansion": "a variable",
    "subshell": "a subshell",
    "test_command": "a test in brackets",
    "unset_command": "a command that unsets variables",
    "variable_assignment": "an assignment",
    "variable_assignments": "an assignment",
    "while_statement": "a loop",
}
COMMANDS = word_set("command declaration_command unset_command test_command")
REDIRECTS = word_set("file_redirect heredoc_redirect herestring_redirect")
WORDS = word_set(
    "word number concatenation raw_string string ansi_c_string translated_string simple_expansion "
    "expansion command_substitution process_substitution arithmetic_expansion "
    "brace_expression"
)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\])')
# Unquoted, these make a word into other words.
EXPANDED_BUT_BRACES = re.compile(r"[*?\[]|(?<![A-Za-z0-9_@~])~")
EXPANDED = re.compile(rf"\{{|{EXPANDED_BUT_BRACES.pattern}")


def read_by_grammar(text: str) -> tuple[tuple[Words, ...], str] | None:
    """The commands and the first doubt; None for a line that would take too long."""
    if len(text) > LONGEST or len(re.findall(r"(?<!\|)\|(?!\|)", text)) > MOST_PIPES:
        return None
    # The grammar's scanner asks isdigit() and the like about any character, which reads outside of
    # their tables and crashes. To the shell these are letters of a word like any other; with one
    # byte for each, the grammar's places are places in the text.
    data = NOT_ASCII.sub(".", text).encode()
    import tree_sitter_bash  # late: 6 ms, and only commands need it
    from tree_sitter import Language, Parser

    end = time.thread_time() + MOST_TIME_S
    parser = Parser(Language(tree_sitter_bash.language()))
    try:
        tree = parser.parse(
            lambda offset, point: data[offset : offset + CHUNK_BYTES],
            progress_callback=lambda offset, has_error: time.thread_time() > end,
        )
    except ValueError:  # stopped by the callback
        return None
    nodes = list(islice(_nodes_below(tree.root_node), MOST_NODES + 1))
    return _Reader(text).look_through(nodes) if len(nodes) <= MOST_NODES else None


class _Reader:
    """Makes words and doubts of the grammar's nodes, which are places in the text."""

    def __init__(self, text: str) -> None:
        self._whole = text

    def look_through(self, nodes: Iterable[Node]) -> tuple[tuple[Words, ...], str]:
        """All commands among the nodes, and the first doubt."""
        commands: list[list[str]] = []
        doubt = ""
        for node in nodes:
            doubt = doubt or self._doubt_about(node)
            if node.is_error or node.is_missing:
                commands.append([UNKNOWN])
            elif node.type in COMMANDS:
                commands.append(list(self._words_of(node)))
            elif commands and (words := _words_behind(node)) and not _is_in_command(node):
                # `git >f push`: the grammar takes the second word for a file too, the shell
                # doesn't.
                commands[-1] += map(self._word, words)
        return tuple(tuple(words) for words in commands if words), doubt

    def _doubt_about(self, node: Node) -> str:
        kind = node.type
        if node.is_error or node.is_missing:
            return UNREADABLE
        if kind in ("word", "number"):
            text = self._text(node)
            return "" if PLAIN.fullmatch(text) else _why_not_plain(text)
        if kind == "string_content":
            return "a backslash" if "\\" in self._text(node) else ""
        if kind == "file_redirect":
            return _why_not_quiet(self._text(node))
        return (
            "" if kind in HARMLESS else DOUBTS.get(kind, f"shell syntax: {kind.replace('_', ' ')}")
        )

    def _words_of(self, command: Node) -> Iterator[str]:
        for child in command.children:
            if child.type == "variable_assignment" and command.type == "command":
                continue
            if child.type in REDIRECTS:
                yield from map(self._word, _words_behind(child))
            elif child.type != "$":  # of $"...", the text's translation
                yield self._word(child)

    def _word(self, node: Node) -> str:
        """The word after the removal of quotes, or UNKNOWN."""
        node = node.children[0] if node.type == "command_name" and node.children else node
        parts = node.children if node.type == "concatenation" else [node]
        text = self._text(node)
        if text in ("[", "[["):
            return text  # the command
        # `{}`, as find and xargs have it, is no brace expansion.
        expanded = EXPANDED_BUT_BRACES if text.count("{") == text.count("{}") else EXPANDED
        known = [self._part(part, expanded) for part in parts]
        return UNKNOWN if any(UNKNOWN in part for part in known) else "".join(known)

    def _part(self, node: Node, expanded: re.Pattern[str]) -> str:
        text = self._text(node)
        if node.type == "raw_string":
            return text[1:-1]
        if node.type == "string":
            plain = all(child.type in ('"', "string_content") for child in node.children)
            return _unescaped(text[1:-1], ESCAPED_IN_QUOTES) if plain else UNKNOWN
        if node.type == "ansi_c_string":
            return UNKNOWN if "\\" in text else text[2:-1]
        expands = expanded.search(ESCAPED.sub("", text))
        return UNKNOWN if node.named_child_count or expands else _unescaped(text, ESCAPED)

    def _text(self, node: Node) -> str:
        return self._whole[node.start_byte : node.end_byte]


def _nodes_below(root: Node) -> Iterator[Node]:
    """Every node and token in the order of the text; a stack, since a tree may be very deep."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _words_behind(node: Node) -> list[Node]:
    """The words that follow a redirect's own, which belong to the command."""
    if node.type not in REDIRECTS:
        return []
    words = [child for child in node.named_children if child.type in WORDS]
    return words if node.type == "heredoc_redirect" else words[1:]


def _is_in_command(redirect: Node) -> bool:
    return redirect.parent is not None and redirect.parent.type in COMMANDS


def _why_not_plain(word: str) -> str:
    if "\\" in word:
        return "a backslash"
    if set(word) & set("*?["):
        return "a file name pattern"
    return f"an unquoted {PLAIN.sub('', word)[:1] or 'character'}"


def _why_not_quiet(redirect: str) -> str:
    if QUIET_REDIRECT.fullmatch(redirect):
        return ""
    return "a redirect into a file" if ">" in redirect else "a redirect from a file"


def _unescaped(text: str, escaped: re.Pattern[str]) -> str:
    return escaped.sub(r"\1", text.replace("\\\n", ""))
