"""Schemas of typed functions, and the words for arguments that don't fit."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import pytest

from claw.tools import coding_tools
from claw.tools.schema import parameters_of, problem_with, schema_of


class Point(TypedDict):
    x: Annotated[int, "across"]
    y: int
    name: NotRequired[str]


class Loose(TypedDict, total=False):
    x: Required[int]
    y: int


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (list, {"type": "array"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Annotated[str, "words"], {"type": "string", "description": "words"}),
    ],
)
def test_what_types_become(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def test_a_typed_dict_knows_what_is_required() -> None:
    assert schema_of(Point)["required"] == ["x", "y"]
    assert schema_of(Point)["properties"]["x"] == {"type": "integer", "description": "across"}
    assert schema_of(Loose)["required"] == ["x"]


def test_a_type_without_a_counterpart_is_refused() -> None:
    def of_bytes(data: bytes) -> None: ...
    def untyped(data) -> None: ...  # type: ignore[no-untyped-def]
    def variadic(*data: str) -> None: ...

    for function in (of_bytes, untyped, variadic):
        with pytest.raises(TypeError):
            parameters_of(function, leave_out=set())


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_file", {}, ["'path'", "required"]),
        ("read_file", {"path": 3}, ["path", "3 is not of type 'string'"]),
        ("read_file", {"path": "a", "start": 1}, ["'start' was unexpected"]),
        ("read_file", {"path": "a", "start_line": "1"}, ["start_line", "'1'"]),
        ("edit_file", {"path": "a", "edits": "x"}, ["edits", "is not of type 'array'"]),
        ("edit_file", {"path": "a", "edits": [{"old_text": "a"}]}, ["new_text", "required"]),
        ("bash", {"command": "x", "timeout_s": "fast"}, ["timeout_s", "'fast'"]),
    ],
)
def test_arguments_that_don_t_fit_are_explained(
    name: str, arguments: dict[str, Any], words: list[str]
) -> None:
    tool = next(each for each in coding_tools(".") if each.name == name)
    problem = problem_with(arguments, tool.parameters)
    assert problem is not None
    for word in words:
        assert word in problem
    assert "\n" not in problem


def test_arguments_that_fit_have_no_problem() -> None:
    tools = {tool.name: tool.parameters for tool in coding_tools(".")}
    edits = [
        {"old_text": "a", "new_text": "b"},
        {"old_text": "", "new_text": "", "replace_all": True},
    ]
    assert problem_with({"path": "a", "edits": edits}, tools["edit_file"]) is None
    assert problem_with({"path": "a", "start_line": None}, tools["read_file"]) is None
    assert problem_with({"command": "x", "timeout_s": 3}, tools["bash"]) is None
    assert problem_with({}, tools["list_files"]) is None
