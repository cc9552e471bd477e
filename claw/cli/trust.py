"""Which folders the user trusts: settled before anything of one gets into the prompt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from claw.cli.places import read_plain, write_private
from claw.cli.project import INSTRUCTIONS, SETTINGS, SKILLS
from claw.errors import ConfigError

TRUST_FILE_BYTES = 10_000_000


class TrustedFolders:
    """The user's answers, kept in one file by the folders' real paths."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def answer(self, folder: Path) -> bool | None:
        """What the user said about exactly this folder; None when nobody asked yet."""
        return self._read().get(str(folder.resolve()))

    def remember(self, folder: Path, trusted: bool) -> None:
        answers = {**self._read(), str(folder.resolve()): trusted}
        write_private(self._file, json.dumps(answers, indent=1) + "\n")

    def _read(self) -> dict[str, bool]:
        try:
            answers = json.loads(read_plain(self._file, TRUST_FILE_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"{self._file} can't be read ({error}): delete it, and claw asks again"
            ) from error
        if not isinstance(answers, dict):
            raise ConfigError(f"{self._file} isn't claw's: delete it, and claw asks again")
        # Only a plain `true` trusts: whatever else stands there does not.
        return {folder: answer is True for folder, answer in answers.items()}


def settle_trust(
    folder: Path, folders: TrustedFolders, ask: Callable[[str], bool] | None
) -> tuple[bool, list[str]]:
    """(trusted?, lines to tell). Asks once in a folder's life and writes the answer down; without
    `ask` it isn't trusted."""
    known = folders.answer(folder)
    if known is not None:
        return known, []
    if ask is None:
        there = [name for name in (INSTRUCTIONS, SETTINGS, SKILLS) if (folder / name).exists()]
        words = "not read, since this folder isn't trusted yet; `claw` in a terminal asks once"
        return False, [f"{' and '.join(there)}: {words}"] if there else []
    # The name on a line of its own: however long it is, the question and its cue stay together.
    name = str(folder).replace("\n", "?")
    trusted = ask(
        f"{name}\nDo you trust this folder? Its {INSTRUCTIONS} and {SKILLS} may then instruct the "
        f"model, and its {SETTINGS} choose model, effort and limits."
    )
    try:
        folders.remember(folder, trusted)
    except ConfigError as error:
        return trusted, [f"the answer isn't remembered: {error.message}"]
    return trusted, []
