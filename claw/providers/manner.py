"""Manner: how one server is asked, and the changes of it that a refusal taught."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from claw.providers.quirks import NO_QUIRKS, Quirks
from claw.values import frozen


@frozen
class Remedy:
    """One change of the manner.

    words: what is done, as it stands behind "trying again". quirks: what they become. params:
    further fields of the body that change; None takes a field out.
    """

    words: str
    quirks: Mapping[str, Any] = field(default_factory=dict, hash=False)
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)


@frozen
class Manner:
    """How one server is asked: its quirks and further fields of the body, `remedies` applied."""

    quirks: Quirks = NO_QUIRKS
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    remedies: tuple[Remedy, ...] = ()

    def mended(self, remedy: Remedy) -> Manner:
        """The manner after one more remedy."""
        params = {**self.params, **remedy.params}
        return Manner(
            replace(self.quirks, **remedy.quirks),
            {name: value for name, value in params.items() if value is not None},
            (*self.remedies, remedy),
        )
