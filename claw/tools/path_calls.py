"""What is said of a call that has a path before it runs, and where the path leads when it does.

A path is resolved once for each call. If a link were resolved anew when the call runs, it could
lead to a place that nobody has been asked about. As it is, descent.py finds the changed part in
its way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from claw.errors import ToolError
from claw.messages import ToolCall
from claw.tools.base import Arguments, ToolContext
from claw.tools.state import kept_in
from claw.tools.workspace import Location, Workspace


@dataclass
class JudgedCall:
    """What was found out about one call. found: where its path leads, or why nobody can tell.
    shown: digest of the content that the user was shown a change of, if there was one."""

    call: ToolCall
    found: Location | ToolError
    shown: bytes | None = None

    @property
    def place(self) -> Location:
        """ToolError for a path that couldn't be judged: it must not lead anywhere later."""
        if isinstance(self.found, ToolError):
            raise self.found
        return self.found


class JudgedCalls:
    """The calls of a session that were judged and haven't run, in the state of their family.

    Known by the object, since ids may come twice. A call goes when it runs; one that was denied
    stays with the session, as it does in the history. Its steps are single dict operations, so
    any thread may call.
    """

    def __init__(self) -> None:
        self._calls: dict[int, JudgedCall] = {}

    def judged(self, call: ToolCall, workspace: Workspace, path: str) -> JudgedCall:
        """Where its path led when it was first asked for."""
        known = self._calls.get(id(call))  # nobody else's: the call is held as long as its entry
        if known is None:
            known = self._calls.setdefault(id(call), JudgedCall(call, _found(workspace, path)))
        return known

    def drop(self, call: ToolCall) -> None:
        self._calls.pop(id(call), None)


class PathCalls:
    """The calls of a tool that takes a `path`, bound to a workspace. Any thread may ask.

    default: what a call without a path means. `read_caution`, `write_caution` and
    `write_protected` are made to be given to `@tool`; none of them raises: a path that can't be
    judged is told by the call itself, which then touches nothing.
    """

    def __init__(self, workspace: Workspace, default: str = "") -> None:
        self._workspace = workspace
        self._default = default

    def judged(self, context: ToolContext, path: str | None) -> JudgedCall:
        """What is known of a call that may run later."""
        calls = kept_in(context.state, "judged", JudgedCalls, JudgedCalls)
        return calls.judged(context.call, self._workspace, path or self._default)

    def take(self, context: ToolContext, path: str | None) -> JudgedCall:
        """The same for the call that runs now; nobody asks again."""
        judged = self.judged(context, path)
        kept_in(context.state, "judged", JudgedCalls, JudgedCalls).drop(context.call)
        return judged

    def read_caution(self, arguments: Arguments, context: ToolContext) -> str | None:
        """Why reading the path should be asked about; None where it needn't."""
        path, place = self._asked(arguments, context)
        return None if place is None or place.readable else self._workspace.outside(path, place)

    def write_caution(self, arguments: Arguments, context: ToolContext) -> str | None:
        """Why writing the path should be asked about; None where it is ordinary."""
        path, place = self._asked(arguments, context)
        return None if place is None or place.inside else self._workspace.outside(path, place)

    def write_protected(self, arguments: Arguments, context: ToolContext) -> str | None:
        """Why writing the path is asked about in every mode; None where it is no such path."""
        path, place = self._asked(arguments, context)
        return None if place is None else self._workspace.protected_reason(path, place)

    def _asked(self, arguments: Arguments, context: ToolContext) -> tuple[str, Location | None]:
        path: Any = arguments.get("path") or self._default
        found = self.judged(context, path).found
        return path, found if isinstance(found, Location) else None


def _found(workspace: Workspace, path: str) -> Location | ToolError:
    try:
        return workspace.locate(path)
    except ToolError as error:
        return error
