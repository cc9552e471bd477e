"""Tool, ToolContext, ToolOutput, ToolRegistry, and `@tool` for typed functions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias, get_type_hints, overload

from claw.cancel import CancelToken
from claw.errors import ConfigError
from claw.messages import ToolCall
from claw.tools.schema import parameters_of
from claw.values import frozen


@frozen
class ToolOutput:
    """What a tool gives back where a plain string says too little.

    details: JSON values for reporters, beside the result; TypeError for anything else.
    """

    content: str
    is_error: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        json.dumps(self.details)


@frozen
class ToolContext:
    """What a running call may know and use.

    cancel: the call's token; a long tool heeds it. cwd: the folder the run works in.
    env: the environment for child processes, without any key of the model's server.
    output(text): live output for the reporter; never blocks, never changes the result.
    state: the family's own dict, kept by the Session.

    Contract: a value in `state` that has a `close()` is closed with the Session, or when that is
    cleared; once, by the thread that does it, and those that were put there last come first. Calls
    that were cancelled may still run then, on other threads. What one raises keeps none of the
    others from being closed; it reaches the caller in the end.
    """

    call: ToolCall
    cancel: CancelToken
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    output: Callable[[str], None] = lambda text: None
    state: dict[str, Any] = field(default_factory=dict)


Arguments: TypeAlias = Mapping[str, Any]
RunFunction: TypeAlias = Callable[[Arguments, ToolContext], str | ToolOutput]
PreviewFunction: TypeAlias = Callable[[Arguments, ToolContext], str | None]


@frozen
class Tool:
    """Something the model may call.

    parameters: JSON Schema of the arguments; they are checked against it before anyone is asked.
    read_only: it changes nothing; read-only calls that stand together run together.
    caller_thread: `run` is called on the thread that called Engine.run, not on a `claw-tool`.
    preview: what an approval question shows, such as the whole diff; None shows the arguments.
    family: whose `ToolContext.state` it shares; by default its own name.
    may_repeat: calling it again and again in the same words is no loop, since what it looks at
        changes by itself.
    edits: it changes files and nothing else, so `--approve edits` lets it pass.
    command: the argument that is a shell command line, which rules and grants are matched with.
    caution: why this very call should be asked about although calls of its kind pass unasked (a
        path outside the workspace); None when there is no such reason.
    protected: why this very call is asked about even where everything is allowed (a file that
        would run at the user's next step, such as a git hook); None when there is no such reason.

    Contract: `run` is called on a thread of its own (see caller_thread) with arguments that fit
    the schema. It returns the result's text or a ToolOutput; ToolError is a failure in words for
    the model, Cancelled is right after `cancel` fired, anything else is reported as a fault of the
    tool and the run goes on. `preview`, `caution` and `protected` are called on the engine's
    thread, maybe several times for one call, must be quick, and change nothing outside `state`.
    Whichever of them raises ToolError, the call is not run, nobody is asked about it, and the model
    gets the words; so does `preview` for a call that is bound to fail. Anything else they raise
    ends the run and reaches its caller.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: RunFunction
    read_only: bool = field(default=False, kw_only=True)
    caller_thread: bool = field(default=False, kw_only=True)
    preview: PreviewFunction | None = field(default=None, kw_only=True)
    may_repeat: bool = field(default=False, kw_only=True)
    edits: bool = field(default=False, kw_only=True)
    command: str = field(default="", kw_only=True)
    caution: PreviewFunction | None = field(default=None, kw_only=True)
    protected: PreviewFunction | None = field(default=None, kw_only=True)
    family: str = field(default="", kw_only=True)


class ToolRegistry:
    """Tools by name, in order of registration."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for each in tools:
            self.register(each)

    def register(self, tool: Tool) -> None:
        """Adds a tool; ConfigError when the name is taken."""
        if tool.name in self._tools:
            raise ConfigError(f"two tools are named {tool.name!r}: rename one")
        self._tools[tool.name] = tool

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str = "",
    read_only: bool = False,
    caller_thread: bool = False,
    preview: PreviewFunction | None = None,
    may_repeat: bool = False,
    edits: bool = False,
    command: str = "",
    caution: PreviewFunction | None = None,
    protected: PreviewFunction | None = None,
    family: str = "",
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", **options: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a Tool of a typed function: name, description and schema come from the function.

    The docstring is the description, `Annotated[str, "words"]` describes a parameter, and a
    parameter annotated ToolContext is filled in and left out of the schema. What the function
    returns becomes text by `str()`. Raises TypeError for a parameter JSON can't hold.
    """

    def make(function: Callable[..., Any]) -> Tool:
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__name__}: claw is synchronous, a tool can't be async")
        hints = get_type_hints(function)
        contexts = {key for key, hint in hints.items() if hint is ToolContext and key != "return"}

        def run(arguments: Arguments, context: ToolContext) -> str | ToolOutput:
            result = function(**arguments, **dict.fromkeys(contexts, context))
            return result if isinstance(result, ToolOutput) else str(result)

        return Tool(
            name or function.__name__,
            inspect.getdoc(function) or "",
            parameters_of(function, leave_out=contexts),
            run,
            **options,
        )

    return make if function is None else make(function)
