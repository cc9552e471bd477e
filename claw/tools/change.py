"""A change of one file: the look at what it holds, what may speak against it, the writing."""

from __future__ import annotations

from typing import Any

from claw.errors import ToolError
from claw.tools.base import ToolContext
from claw.tools.content import Content, content_at, save
from claw.tools.digest import digest_of
from claw.tools.path_calls import PathCalls
from claw.tools.seen import seen_in
from claw.tools.undo import undo_in
from claw.tools.workspace import Location
from claw.values import frozen


@frozen
class FileChange:
    """A file that a call is about to write. found: what it holds now, None if there is none."""

    place: Location
    found: Content | None
    state: dict[str, Any]

    @property
    def before(self) -> bytes | None:
        return self.found.data if self.found else None

    @property
    def broken_link(self) -> str:
        """For the result: a file is replaced, so its other names keep what it held."""
        others = self.found.status.st_nlink - 1 if self.found else 0
        if others < 1:
            return ""
        return f" (it had {others} more name{'s' * (others > 1)}, by hard links: not changed there)"

    def save(self, after: bytes) -> None:
        """Writes it, so that it can be undone; from now on the model knows it. ToolError."""
        save(self.place, after, self.found, undo_in(self.state))
        seen_in(self.state).note(self.place, digest_of(after))


def change_to_show(paths: PathCalls, context: ToolContext, path: str) -> FileChange:
    """For a question: the user is shown a change of what the file holds now. ToolError where the
    model is wrong about that."""
    judged = paths.judged(context, path)
    change = _looked_at(judged.place, context)
    judged.shown = digest_of(change.before or b"")
    return change


def change_to_make(paths: PathCalls, context: ToolContext, path: str) -> FileChange:
    """For the call that runs. ToolError where the model is wrong about what the file holds, and
    where that is no longer what the user was shown."""
    judged = paths.take(context, path)
    change = _looked_at(judged.place, context)
    if judged.shown is not None and judged.shown != digest_of(change.before or b""):
        raise ToolError(
            f"{change.place.name} was changed while the question was open, so nothing was "
            "written: read it again"
        )
    return change


def _looked_at(place: Location, context: ToolContext) -> FileChange:
    change = FileChange(place, content_at(place), context.state)
    seen_in(context.state).refuse_if_changed(place, change.before)
    return change
