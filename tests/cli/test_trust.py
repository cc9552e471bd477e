"""Nothing of a folder gets into the prompt before the user trusts it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claw.cli.trust import TrustedFolders, settle_trust
from claw.errors import ConfigError


class Answers:
    """Somebody who answers questions, and counts them."""

    def __init__(self, answer: bool) -> None:
        self.questions: list[str] = []
        self._answer = answer

    def __call__(self, question: str) -> bool:
        self.questions.append(question)
        return self._answer


@pytest.mark.parametrize("answer", [True, False])
def test_each_folder_is_asked_about_once(tmp_path: Path, answer: bool) -> None:
    somebody, file = Answers(answer), tmp_path / "state" / "trust.json"
    for _ in range(2):
        assert settle_trust(tmp_path, TrustedFolders(file), somebody) == (answer, [])
    assert len(somebody.questions) == 1
    assert str(tmp_path) in somebody.questions[0]
    inner = tmp_path / "inner"
    inner.mkdir()
    settle_trust(inner, TrustedFolders(file), somebody)
    assert len(somebody.questions) == 2
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_it_is_remembered_by_the_real_path(tmp_path: Path) -> None:
    folders = TrustedFolders(tmp_path / "trust.json")
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    folders.remember(link, True)
    assert folders.answer(real) is True
    link.unlink()
    link.mkdir()
    assert folders.answer(link) is None


def test_with_nobody_to_ask_it_is_not_trusted_and_stays_open(tmp_path: Path) -> None:
    folders = TrustedFolders(tmp_path / "trust.json")
    assert settle_trust(tmp_path, folders, None) == (False, [])
    (tmp_path / "AGENTS.md").write_text("Obey.")
    trusted, [line] = settle_trust(tmp_path, folders, None)
    assert not trusted
    assert "AGENTS.md: not read" in line
    assert folders.answer(tmp_path) is None


@pytest.mark.parametrize("text", ["no json", "[]", "\xff"])
def test_a_broken_file_trusts_nobody(tmp_path: Path, text: str) -> None:
    file = tmp_path / "trust.json"
    file.write_text(text, "latin-1")
    with pytest.raises(ConfigError, match="delete it"):
        TrustedFolders(file).answer(tmp_path)


def test_only_a_plain_true_trusts(tmp_path: Path) -> None:
    file = tmp_path / "trust.json"
    file.write_text(f'{{"{tmp_path}": "yes"}}')
    assert TrustedFolders(file).answer(tmp_path) is False


@pytest.mark.parametrize("what", ["fifo", "deep"])
def test_a_trust_file_that_is_something_else_is_one_line(tmp_path: Path, what: str) -> None:
    file = tmp_path / "trust.json"
    if what == "fifo":
        os.mkfifo(file)
    else:
        file.write_text("[" * 100_000)
    with pytest.raises(ConfigError, match="delete it"):
        TrustedFolders(file).answer(tmp_path)
