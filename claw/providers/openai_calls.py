"""Chat Completions: which tool call a fragment belongs to. Servers leave out, repeat and mix up
index, id and name; the rules are those of tests/cases/README.md, "Tool calls".
"""

from __future__ import annotations

from typing import Any

from claw.events import StreamEvent
from claw.providers.arguments import json_text
from claw.providers.draft import CallPart, Draft
from claw.providers.nesting import Nesting
from claw.providers.templates import Hole


class ChatCalls:
    """The tool calls of one reply."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._last: CallPart | None = None
        self._at: dict[int, CallPart] = {}
        self._by_id: dict[str, CallPart] = {}
        self._by_place: dict[tuple[int, str], CallPart] = {}
        self._nesting: dict[CallPart, Nesting] = {}  # of the calls without an id

    def fold(self, piece: dict[str, Any], deltas: list[StreamEvent]) -> int:
        """Takes one entry of `tool_calls`; returns its size as `Assembler.fold` does."""
        function = piece.get("function")
        if not isinstance(function, dict):
            function = {}
        index, call_id = piece.get("index"), _text(piece.get("id"))
        name, fragment = _text(function.get("name")), json_text(function.get("arguments"))
        if not (call_id or name or fragment):
            return 0
        place = index if type(index) is int else None
        call = self._find(place, call_id)
        if call is None or self._begins_another(call, call_id, name):
            call = self._draft.open_call(call_id, name, deltas)
            self._remember(call, place)
            size = 1 + len(name)
        else:
            if call_id:
                if not call.server_id:
                    self._draft.name_call(call, call_id)
                self._remember(call, place)
            size = call.add_name(name) if name else 0
        self._last = call
        if extra := piece.get("extra_content"):  # Gemini's thought signature
            call.opaque = {"extra_content": extra}
        return size + self._add(call, fragment, deltas) if fragment else size

    def hole_in(self, pieces: Any) -> Hole | None:
        """The fragment of a chunk that only adds to a call; pieces: its `tool_calls`, folded."""
        piece = pieces[0] if type(pieces) is list and len(pieces) == 1 else None
        if type(piece) is not dict or not piece.keys() <= {"index", "type", "function"}:
            return None
        function, place = piece.get("function"), piece.get("index")
        if type(function) is not dict or function.keys() != {"arguments"}:
            return None
        if type(function["arguments"]) is not str or type(place) is not int:
            return None
        if place not in self._at:
            return None

        def take(fragment: str, deltas: list[StreamEvent]) -> int:
            return self._add(self._at[place], fragment, deltas) if fragment else 0

        return Hole(function, "arguments", take)

    def _add(self, call: CallPart, fragment: str, deltas: list[StreamEvent]) -> int:
        self._last = call
        if not call.server_id:
            self._nesting.setdefault(call, Nesting()).add(fragment)
        return call.add(fragment, deltas)

    def _find(self, place: int | None, call_id: str) -> CallPart | None:
        if place is None:
            if not call_id:
                return self._last
            known = self._by_id.get(call_id)
            waiting = self._last if self._last and not self._last.server_id else None
            return known or waiting
        call = self._at.get(place)
        if call is not None and call_id and call.server_id not in ("", call_id):
            return self._by_place.get((place, call_id))
        return call

    def _begins_another(self, call: CallPart, call_id: str, name: str) -> bool:
        """With no id anywhere, a name begins a new call once the arguments before it are whole."""
        if call_id or call.server_id or not name:
            return False
        nesting = self._nesting.get(call)
        return nesting is not None and nesting.whole

    def _remember(self, call: CallPart, place: int | None) -> None:
        if place is not None:
            self._at[place] = call
            self._by_place.setdefault((place, call.server_id), call)
        if call.server_id:
            self._by_id.setdefault(call.server_id, call)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
