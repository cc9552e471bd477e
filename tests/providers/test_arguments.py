"""A tool call's arguments: what is read, what is refused, and why."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.providers.arguments import parse_arguments
from claw.providers.nesting import MAX_DEPTH, Nesting
from tests.support import anthropic as messages_body
from tests.support import chat as chat_body

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)
ODD_TEXTS = st.text() | st.lists(
    st.sampled_from(['{"a":', "1", "}", "[", "]", '"', "\\", "\\ud83d", "null", " ", ",", "NaN"])
).map("".join)


@given(OBJECTS, st.booleans())
def test_an_object_is_read_as_it_was_written(value: dict[str, Any], ascii_only: bool) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_arguments(raw) == (value, None)
    assert parse_arguments(json.dumps(raw)) == (value, None)
    assert parse_arguments(f" {raw}\n{raw}") == (value, None)


@given(ODD_TEXTS)
def test_whatever_comes_is_arguments_or_a_reason_and_can_be_sent_back(raw: str) -> None:
    arguments, error = parse_arguments(raw)
    assert error is None or (arguments == {} and error)
    json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize("raw", ["", "  \n", "null", " null "])
def test_nothing_means_no_arguments(raw: str) -> None:
    assert parse_arguments(raw) == ({}, None)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ('{"a":', "Expecting value"),
        ('{"a":1,}', "double quotes"),
        ("[1]", "a list"),
        ("5", "a number"),
        ("true", "true or false"),
        ('"text"', "a string"),
        ('"null"', "a string"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "1e999"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        ('{"a":1}{"a":2}', "Extra data"),
        ('{"a":1}{"a":true}', "Extra data"),
        ('{"a":1}{"a":1}{"a":1}', "Extra data"),
        ('{"a":1} "b"', "Extra data"),
        ('\u00a0{"a":1}', "Expecting value"),
        (json.dumps('{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}"), "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}", "nested too deeply"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_a_reason(raw: str, why: str) -> None:
    arguments, error = parse_arguments(raw)
    assert arguments == {}
    assert error is not None
    assert why in error


def test_control_characters_inside_strings_are_taken() -> None:
    assert parse_arguments('{"a":"one\ntwo\tthree"}') == ({"a": "one\ntwo\tthree"}, None)


def test_escaped_halves_of_surrogate_pairs_become_writable() -> None:
    assert parse_arguments(r'{"a":"\ud83d\ude00 \ud83d."}') == ({"a": "😀 \ufffd."}, None)


def test_many_brackets_side_by_side_are_not_deep() -> None:
    raw = json.dumps({"a": [[]] * 2 * MAX_DEPTH})
    assert parse_arguments(raw)[1] is None


@given(OBJECTS, st.text(alphabet=" \n{}[],"), st.lists(st.integers(1, 30), max_size=5))
def test_nesting_finds_the_end_of_the_first_object_however_it_is_cut(
    value: dict[str, Any], after: str, sizes: list[int]
) -> None:
    raw = json.dumps(value)
    text, nesting = raw + after, Nesting()
    for size in sizes:
        nesting.add(text[:size])
        text = text[size:]
    nesting.add(text)
    assert nesting.closed_at == len(raw)
    assert Nesting(raw).whole
    assert not Nesting(raw[:-1]).whole


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_call_with_what_is_no_json_is_never_usable(value: float) -> None:
    """Python would read NaN and Infinity, also where a server sends the arguments bare."""
    chat = chat_body.message_of(
        chat_body.call(index=0, id="c", name="wait", arguments={"s": value}),
        chat_body.chunk({}, "tool_calls"),
    )
    messages = messages_body.message_of(
        messages_body.head(),
        messages_body.block(0, "tool_use", id="c", name="wait", input={"s": value}),
        messages_body.tail("tool_use"),
    )
    for message in (chat, messages):
        (call,) = message.tool_calls
        assert call.arguments == {}
        assert "is not JSON" in (call.error or "")
