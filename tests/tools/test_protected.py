"""Paths that are asked about in every mode, and the words for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claw.tools.git_folders import MOST_FOLDERS, git_folders_in, named_by_config
from claw.tools.protected import guarded_paths, protected_reason
from claw.tools.workspace import Workspace
from tests.support.toolbox import Toolbox

EDIT = [{"old_text": "a", "new_text": "b"}]


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git",
        "vendor/lib/.git/hooks/post-checkout",
        ".git/modules/lib/config",
        ".git/worktrees/x/config.worktree",
        ".GIT/hooks/pre-commit",
        ".Git/Config",
        ".g\u200cit/config",
        ".claw/config.toml",
        "sub/.claw/config.toml",
        ".bashrc",
        "home/.zshenv",
        ".config/fish/conf.d/x.fish",
        ".gitconfig",
        ".config/git/config",
        ".ssh/authorized_keys",
        ".envrc",
        ".mcp.json",
        ".vscode/tasks.json",
        ".vscode/settings.json",
        ".claude/settings.json",
        ".cursor/mcp.json",
        ".husky/pre-commit",
        ".local/bin/ls",
        ".config/environment.d/x.conf",
        "HEAD",
        "sub/HEAD",
        "../home/.profile",
        "/etc/profile.d/x.sh",
        "sub/../.git/config",
    ],
)
def test_what_would_run_by_itself_is_protected(box: Toolbox, path: str) -> None:
    for name, more in (("write_file", {"content": "x"}), ("edit_file", {"edits": EDIT})):
        words = box.protected(name, path=path, **more)
        assert words is not None
        assert "\n" not in words
        assert "is protected: " in words


@pytest.mark.parametrize(
    "path",
    [
        "a.py",
        ".gitignore",
        ".gitattributes",
        ".github/workflows/ci.yml",
        "git/hooks/pre-commit",
        "Makefile",
        ".vscode/launch.json",
        ".claude/notes.md",
        "config",
        "hooks/pre-commit",
        "objects/x",
        "refs/x",
        "HEAD.md",
        "bashrc",
        "etc/profile",
        "config/fish/x",
        "/tmp/a",
        "a\0b",
    ],
)
def test_ordinary_paths_are_not(box: Toolbox, path: str) -> None:
    assert box.protected("write_file", path=path, content="x") is None


def test_a_link_is_judged_by_its_name_and_by_its_target(box: Toolbox, tmp_path: Path) -> None:
    (box.root / ".git").mkdir()
    (tmp_path / "shared").mkdir()
    (box.root / "innocent").symlink_to(".git/config")
    (box.root / ".git/hooks").symlink_to(tmp_path / "shared")
    (box.root / "other").symlink_to(".git/hooks/pre-push")
    for path in ("innocent", ".git/hooks/pre-push", "../shared/pre-push", "other"):
        assert box.protected("write_file", path=path, content="x") is not None


def test_claw_s_own_folders_are_protected_wherever_they_are(tmp_path: Path) -> None:
    own = tmp_path / "Settings"
    assert protected_reason(own / "config.toml", [own]) is not None
    assert protected_reason(tmp_path / "settings" / "x", [own]) is not None
    assert protected_reason(own, [own]) is not None
    assert protected_reason(tmp_path / "Settings2", [own]) is None
    workspace = Workspace(tmp_path, protected=[own])
    path = "Settings/config.toml"
    words = workspace.protected_reason(path, workspace.locate(path))
    assert words == f"{own}/config.toml is claw's own: it decides what claw may do"


def test_what_a_sandbox_guards(tmp_path: Path) -> None:
    for folder in (".git/modules/libs/lib/modules/deep", ".git/worktrees/w", "a/b/.git", "bare"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "HEAD").write_text("")
    (tmp_path / ".git/modules/libs/lib/HEAD").write_text("")
    for folder in ("bare/objects", "bare/refs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.git").write_text("gitdir: ../.git/worktrees/w\n")
    found = {str(path.relative_to(tmp_path)) for path in guarded_paths(tmp_path).paths}
    assert found > {
        ".git/hooks",
        ".git/config",
        ".git/commondir",
        ".git/modules/libs/lib/hooks",
        ".git/modules/libs/lib/modules/deep/config",
        "bare/config",
        "bare/hooks",
        "HEAD",
        ".git/worktrees/w/config.worktree",
        "a/b/.git/config",
        "tree/.git",
        ".claw",
        ".bashrc",
        ".config/fish",
    }
    assert not found & {".", ".git", "a/b/.git", "etc/profile"}


def test_missing_repositories_are_guarded_too_and_linked_ones_as_they_are(tmp_path: Path) -> None:
    assert tmp_path / ".git/hooks" in guarded_paths(tmp_path).paths
    (tmp_path / ".git").symlink_to("elsewhere")
    guarded = guarded_paths(tmp_path).paths
    assert tmp_path / ".git" in guarded
    assert tmp_path / ".git/hooks" not in guarded


@pytest.mark.parametrize("folder", ["", "sub/"])
def test_no_repository_is_made_file_by_file(box: Toolbox, folder: str) -> None:
    for name in ("objects/x", "refs/x"):
        box.text("write_file", path=f"{folder}{name}", content="x")
    for name in ("HEAD", "config", "hooks/post-checkout", "commondir"):
        words = box.protected("write_file", path=f"{folder}{name}", content="x")
        assert words is not None
        assert "may be a repository" in words


@pytest.mark.parametrize(
    "config",
    [
        "[core]\n\thooksPath = scripts/hooks\n",
        '[Core] HOOKSPATH = "scripts/hooks" ; mine\n',
        "[core]\n\tbare = false\n\thooksPath = \\\nscripts/hooks\n",
        "[include]\n\tpath = ../scripts/more\n",
    ],
)
@pytest.mark.parametrize("folder", ["", "nested/"])
def test_hooks_that_the_settings_of_git_name_are_protected(
    box: Toolbox, config: str, folder: str
) -> None:
    git = box.root / folder / ".git"
    git.mkdir(parents=True)
    (git / "config").write_text(config)
    (git / "../scripts").resolve().mkdir()
    (git / "../scripts/more").resolve().write_text("[core]\n\thooksPath = scripts/hooks\n")
    hook = f"{folder}scripts/hooks/pre-commit"
    words = box.protected("write_file", path=hook, content="x")
    assert words is not None
    assert f"{git} names it" in words
    assert git.parent / "scripts/hooks" in guarded_paths(box.root).paths
    assert box.protected("write_file", path=f"{folder}scripts/x", content="x") is None


def test_a_worktree_is_judged_by_the_settings_it_shares(tmp_path: Path) -> None:
    git, tree = tmp_path / "main/.git", tmp_path / "tree"
    (git / "worktrees/tree").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {git}/worktrees/tree\n")
    (git / "worktrees/tree/commondir").write_text("../..\n")
    (git / "config").write_text("[core]\n\thooksPath = hooks\n")
    assert tree / "hooks" in guarded_paths(tree).paths
    workspace = Workspace(tree)
    assert workspace.protected_reason("hooks/x", workspace.locate("hooks/x")) is not None


def test_every_folder_is_looked_at_up_to_a_bound_that_is_told(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"a{number:03}").mkdir()
    (tmp_path / "z/deep/er/.git").mkdir(parents=True)
    (tmp_path / "node_modules/x/.git").mkdir(parents=True)
    found = git_folders_in(tmp_path)
    assert (found.folders, found.whole) == ((tmp_path / "z/deep/er/.git",), True)
    for number in range(MOST_FOLDERS):
        (tmp_path / f"z/{number}").mkdir()
    assert not git_folders_in(tmp_path).whole
    assert not guarded_paths(tmp_path).whole


def test_what_is_no_file_of_settings_says_nothing(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    os.mkfifo(git / "config")
    (git / "config.worktree").mkdir()
    assert list(named_by_config(git)) == []
    (git / "config").unlink()
    (git / "config").write_bytes(b"[core]\n\thooksPath = a\0b\n[include]\n\tpath = config\n\xff")
    assert list(named_by_config(git)) == [git / "config"] * 9
