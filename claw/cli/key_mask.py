"""No output of claw holds a key, not even where the user wrote one into another setting: it may be
a part of a URL, or have been pasted in place of the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from claw.cli.config import UserConfig
from claw.cli.keys import GENERAL_VARIABLE
from claw.cli.servers import preset_tables
from claw.providers.masking import hidden
from claw.values import frozen

NO_SETTINGS = UserConfig(Path())


@frozen
class KeyMask:
    """Takes the keys that the environment holds out of what the user or a server wrote."""

    keys: tuple[str, ...] = ()

    @classmethod
    def of(cls, environ: Mapping[str, str], config: UserConfig = NO_SETTINGS) -> KeyMask:
        keys = {environ.get(name, "").strip() for name in key_variables(config)}
        return cls(tuple(sorted(keys - {""}, key=len, reverse=True)))

    def __call__(self, text: str) -> str:
        """`text` with `[key]` in the place of each. Not for claw's own words; see `hidden`."""
        for key in self.keys:
            text = hidden(text, key)
        return text

    def among(self, text: str) -> KeyMask:
        """A mask for those keys alone that stand in `text`; a short one may be a word of claw's."""
        return KeyMask(tuple(key for key in self.keys if key in text))


def key_variables(config: UserConfig) -> list[str]:
    """The variables that may hold a key: the general one, and those of all presets."""
    presets = [table.preset for table in preset_tables(config).values()]
    names = dict.fromkeys([GENERAL_VARIABLE, *(preset.key_variable for preset in presets)])
    return [name for name in names if name]
