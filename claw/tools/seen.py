"""What the model knows of each file, so that a change by somebody else is not overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claw.errors import ToolError
from claw.tools.digest import digest_of
from claw.tools.state import kept_in
from claw.tools.workspace import Location


class SeenFiles:
    """The content of each file when the model last read or wrote it, as a digest.

    Shared by the file tools of a session; its steps are single dict operations, so any thread may
    call. A digest and not a time stamp: a checkout that changes nothing is no change.
    """

    def __init__(self) -> None:
        self._digests: dict[Path, bytes] = {}

    def note(self, place: Location, digest: bytes) -> None:
        """The model knows the content with this digest."""
        self._digests[place.real] = digest

    def refuse_if_changed(self, place: Location, data: bytes | None) -> None:
        """ToolError when the model read the file and it no longer holds that content.

        A file that was never read passes: there is nothing the model could be wrong about. So does
        one that is gone (None): nothing of anybody's can be overwritten.
        """
        known = self._digests.get(place.real)
        if known is not None and data is not None and known != digest_of(data):
            raise ToolError(
                f"{place.name} has changed since you last read it, so nothing was written: "
                "read it again"
            )


def seen_in(state: dict[str, Any]) -> SeenFiles:
    """The SeenFiles of a tool family's state, made when first asked for."""
    return kept_in(state, "seen", SeenFiles, SeenFiles)
