"""AGENTS.md from the root of the repository down to the folder, and the user's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from claw.cli.instructions import Instructions, read_instructions
from tests.support.command import Shell


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    return tmp_path / "config"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with the folder `a/b` in it."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "a" / "b").mkdir(parents=True)
    return tmp_path / "repo"


def read(
    folder: Path,
    config: Path,
    *,
    trusted: bool = True,
    answer: Callable[[Path], bool | None] = lambda folder: True,
) -> Instructions:
    return read_instructions(folder, config, trusted=trusted, answer=answer)


def order(instructions: Instructions, *texts: str) -> bool:
    """Whether exactly these are in the prompt, in this order."""
    section = instructions.section()
    places = [section.find(text) for text in texts]
    files = [*instructions.own, *instructions.project]
    used = [each for each in files if each.text]
    return -1 not in places and places == sorted(places) and len(used) == len(texts)


def test_there_may_be_none(repo: Path, config: Path) -> None:
    nothing = read(repo / "a", config)
    assert (nothing.section(), nothing.rows(), nothing.notices) == ("", [], ())


def test_the_nearest_comes_last_and_the_users_own_first(repo: Path, config: Path) -> None:
    (config / "AGENTS.md").write_text("Own words.\n")
    (repo / "AGENTS.md").write_text("Root words.\n")
    (repo / "a" / "b" / "AGENTS.md").write_text("Near words.\n")
    found = read(repo / "a" / "b", config)
    assert order(found, "Own words.", "Root words.", "Near words.")
    assert found.notices == ()
    assert f"From {repo / 'AGENTS.md'}:\n\nRoot words." in found.section()


def test_nothing_above_the_root_is_read(repo: Path, config: Path) -> None:
    (repo.parent / "AGENTS.md").write_text("Above.")
    (repo / "AGENTS.md").write_text("Root.")
    assert order(read(repo / "a", config), "Root.")


def test_without_a_repository_only_the_folder_is_read(tmp_path: Path, config: Path) -> None:
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "AGENTS.md").write_text("Above.")
    (tmp_path / "x" / "y" / "AGENTS.md").write_text("Here.")
    assert order(read(tmp_path / "x" / "y", config), "Here.")


def test_a_worktree_has_a_git_file(repo: Path, config: Path) -> None:
    (repo / "a" / ".git").write_text("gitdir: elsewhere\n")
    (repo / "AGENTS.md").write_text("Of another.")
    (repo / "a" / "AGENTS.md").write_text("Root.")
    assert order(read(repo / "a" / "b", config), "Root.")


def test_of_a_folder_that_is_not_trusted_nothing_is_read(repo: Path, config: Path) -> None:
    (config / "AGENTS.md").write_text("Own.")
    (repo / "AGENTS.md").write_text("Root.")
    found = read(repo, config, trusted=False)
    assert order(found, "Own.")
    assert found.notices == ()


@pytest.mark.parametrize(("answer", "told"), [(None, 1), (False, 0)])
def test_each_folder_above_must_be_trusted_itself(
    repo: Path, config: Path, answer: bool | None, told: int
) -> None:
    (repo / "AGENTS.md").write_text("Root.")
    (repo / "a" / "AGENTS.md").write_text("Here.")
    found = read(repo / "a", config, answer=lambda folder: answer)
    assert order(found, "Here.")
    assert len(found.notices) == told
    assert all("isn't trusted yet" in line for line in found.notices)


def test_names_of_files_in_it_are_text(repo: Path, config: Path) -> None:
    (repo / "other.md").write_text("Not this.")
    (repo / "AGENTS.md").write_text("See @other.md and @/etc/passwd.")
    section = read(repo, config).section()
    assert "See @other.md and @/etc/passwd." in section
    assert "Not this." not in section


def test_all_together_take_32_kB_the_own_and_the_nearest_first(repo: Path, config: Path) -> None:
    (config / "AGENTS.md").write_text("o" * 5_000)
    (repo / "AGENTS.md").write_text("far")
    (repo / "a" / "AGENTS.md").write_text("é" * 10_000)
    (repo / "a" / "b" / "AGENTS.md").write_text("n" * 20_000)
    found = read(repo / "a" / "b", config)
    far, middle, near = found.project
    assert (len(found.own[0].text), len(near.text)) == (5_000, 20_000)
    assert (len(middle.text.encode()), middle.missing[:3]) == (7_000, "cut")
    assert (far.text, far.missing[:8]) == ("", "not used")
    assert [line.split(" is ")[0] for line in found.notices] == [
        str(repo / "a" / "AGENTS.md"),
        str(repo / "AGENTS.md"),
    ]


@pytest.mark.parametrize("before", ["", "x"])
def test_a_long_file_is_cut_between_characters(before: str, repo: Path, config: Path) -> None:
    (repo / "AGENTS.md").write_text(before + "é" * 20_000)
    (only,) = read(repo, config).project
    assert only.text == before + "é" * (16_000 - len(before))
    assert only.missing.startswith("cut")
    assert only.size == 40_000 + len(before)


def test_what_is_not_a_file_of_its_folder_is_not_read(repo: Path, config: Path) -> None:
    secret = repo.parent / "secret"
    secret.write_text("secret")
    (repo / "AGENTS.md").symlink_to(secret)
    os.mkfifo(repo / "a" / "AGENTS.md")
    (repo / "a" / "b" / "AGENTS.md").mkdir()
    found = read(repo / "a" / "b", config)
    assert found.section() == ""
    assert len(found.notices) == 3
    assert "links to a place outside" in found.notices[-1]


def test_a_link_within_the_folder_and_the_users_own_link_are_read(repo: Path, config: Path) -> None:
    (repo / "docs.md").write_text("Docs.")
    (repo / "AGENTS.md").symlink_to("docs.md")
    (repo.parent / "dotfile").write_text("Own.")
    (config / "AGENTS.md").symlink_to(repo.parent / "dotfile")
    assert order(read(repo, config), "Own.", "Docs.")


def test_rows_name_the_files_and_their_sizes(repo: Path, config: Path) -> None:
    (config / "AGENTS.md").write_text("Own.")
    (repo / "AGENTS.md").write_text("x" * 40_000)
    own, root = read(repo, config).rows()
    assert own == ("instructions", str(config / "AGENTS.md"), "4 bytes")
    assert root[2].startswith("40,000 bytes, cut: only its beginning is used")


def test_config_show_lists_what_is_read(shell: Shell) -> None:
    (shell.home / "AGENTS.md").write_text("Mine.")
    (shell.folder / "AGENTS.md").write_text("The project's.")
    assert f"{shell.home / 'AGENTS.md'}" in shell.claw("config", "show").out
