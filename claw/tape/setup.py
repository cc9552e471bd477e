"""Setup: what a run's engine was given, as a record of a tape, and an engine that gets the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, field
from typing import Any

from claw.engine import Engine
from claw.engine.budget import price_list
from claw.engine.nested import NestingTool
from claw.pricing import Budget, Price, PriceList
from claw.store.records import Record
from claw.tools.base import RunFunction, Tool, ToolRegistry
from claw.values import frozen


@frozen
class Setup:
    """The part of an engine that decides what a run does, beside what comes from outside."""

    system: str = ""
    max_steps: int = 50
    max_tokens: int | None = None
    context_window: int | None = None
    budget: Budget | None = None
    prices: PriceList = field(default_factory=PriceList)
    repeats: bool = False
    steered: bool = False
    tools: Sequence[Record] = ()


def setup_record(engine: Engine) -> dict[str, Any]:
    """`engine` in JSON's types."""
    budget = engine.budget
    return {
        "system": engine.system,
        "max_steps": engine.max_steps,
        "max_tokens": engine.max_tokens,
        "context_window": engine.context_window,
        "budget": None if budget is None else {"tokens": budget.tokens, "usd": budget.usd},
        "prices": [
            [name, None if price is None else asdict(price)]
            for name, price in price_list(engine.price).models
        ],
        "repeats": engine.on_repeat is not None,
        "steered": engine.steering is not None,
        "tools": [_tool_record(tool, engine) for tool in engine.tools],
    }


def read_setup(record: Mapping[str, Any]) -> Setup:
    """The inverse. KeyError, TypeError, ConfigError and the like for what is none."""
    budget = record["budget"]
    setup = Setup(
        system=record["system"],
        max_steps=record["max_steps"],
        max_tokens=record["max_tokens"],
        context_window=record["context_window"],
        budget=None if budget is None else Budget(**budget),
        prices=PriceList(
            tuple((name, None if p is None else _price(p)) for name, p in record["prices"])
        ),
        repeats=bool(record["repeats"]),
        steered=bool(record["steered"]),
        tools=tuple(record["tools"]),
    )
    tools_of(setup.tools, _never)  # so that what can't be made is found here
    return setup


def tools_of(records: Sequence[Record], run: RunFunction) -> list[Tool]:
    """The tools of a setup, each with `run` in its place."""
    return [_tool(record, run) for record in records]


def _tool_record(tool: Tool, engine: Engine) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "read_only": tool.read_only,
        "caller_thread": tool.caller_thread,
    }
    if isinstance(tool, NestingTool):
        inner = tool.inner(engine)
        record["nesting"] = {
            "token_limit": tool.token_limit,
            "max_steps": inner.max_steps,
            "system": inner.system,
            "tools": list(inner.tools.names),
        }
    return record


def _tool(record: Mapping[str, Any], run: RunFunction) -> Tool:
    tool = Tool(
        str(record["name"]),
        str(record["description"]),
        dict(record["parameters"]),
        run,
        read_only=bool(record["read_only"]),
        caller_thread=bool(record["caller_thread"]),
    )
    nesting = record.get("nesting")
    if nesting is None:
        return tool
    system, steps, names = nesting["system"], int(nesting["max_steps"]), set(nesting["tools"])

    def inner(engine: Engine) -> Engine:
        child = copy(engine)
        child.tools = ToolRegistry(tool for tool in engine.tools if tool.name in names)
        child.system, child.max_steps, child.steering = system, steps, None
        return child

    return NestingTool(
        tool.name,
        tool.description,
        tool.parameters,
        run,
        read_only=tool.read_only,
        caller_thread=tool.caller_thread,
        inner=inner,
        token_limit=int(nesting["token_limit"]),
    )


def _price(data: Mapping[str, Any]) -> Price:
    above = data["above"]
    return Price(**{**data, "above": None if above is None else (above[0], _price(above[1]))})


def _never(arguments: Mapping[str, Any], context: object) -> str:
    raise NotImplementedError
