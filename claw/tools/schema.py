"""A JSON Schema for the parameters of a typed function, and the check of arguments against it."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def parameters_of(function: Callable[..., Any], leave_out: set[str]) -> dict[str, Any]:
    """The schema of `function`'s parameters without those in `leave_out`.

    `Annotated[str, "words"]` describes a parameter. A parameter without a default is required.
    Raises TypeError for a parameter whose type says nothing that JSON can hold.
    """
    hints = get_type_hints(function, include_extras=True)
    properties: dict[str, Any] = {}
    required = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in leave_out:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: *{name} can't be described to a model")
        if name not in hints:
            raise TypeError(f"{function.__name__}: parameter {name!r} needs a type")
        properties[name] = schema_of(hints[name])
        if parameter.default is parameter.empty:
            required.append(name)
    return _object(properties, required)


def schema_of(hint: Any) -> dict[str, Any]:
    """The schema of one annotation: str, int, float, bool, list, dict, Literal, a union, Any,
    a TypedDict, or any of them in Annotated."""
    if hint is Any:
        return {}
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    if is_typeddict(hint):
        fields = get_type_hints(hint, include_extras=True)
        # Where annotations are strings, __required_keys__ doesn't see NotRequired and Required.
        required = [
            name
            for name, field in fields.items()
            if get_origin(field) is Required
            or (get_origin(field) is not NotRequired and name in hint.__required_keys__)
        ]
        return _object({name: schema_of(field) for name, field in fields.items()}, required)
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        words = next((note for note in inner[1:] if isinstance(note, str)), None)
        return schema_of(inner[0]) | ({"description": words} if words else {})
    if origin in (Required, NotRequired):
        return schema_of(inner[0])
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(part) for part in inner]}
    if origin is list:
        return {"type": "array"} | ({"items": schema_of(inner[0])} if inner else {})
    if origin is dict:
        return {"type": "object"} | ({"additionalProperties": schema_of(inner[1])} if inner else {})
    raise TypeError(f"{hint!r} has no counterpart in JSON")


def problem_with(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """What is wrong with `arguments`, in words the model can act on; None when they fit."""
    import jsonschema  # 60 ms that a run without tool calls needn't pay

    validator = jsonschema.validators.validator_for(schema)(schema)
    try:
        found = jsonschema.exceptions.best_match(validator.iter_errors(arguments))
    except Exception as error:  # whatever a schema that is none makes the library raise
        words = str(error).strip().split("\n")[0]
        return f"the tool's own schema can't be used ({words}): a fault of the tool"
    if found is None:
        return None
    where = "".join(f"[{part!r}]" for part in found.absolute_path)
    return f"arguments{where}: {found.message}" if where else found.message


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
