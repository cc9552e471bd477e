"""Paths that are asked about in every mode, and the words for it."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        ".vscode/settings.json",
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
    for folder in (".git/modules/lib", ".git/worktrees/w", "a/b/.git"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.git").write_text("gitdir: ../.git/worktrees/w\n")
    found = {str(path.relative_to(tmp_path)) for path in guarded_paths(tmp_path)}
    assert found > {
        ".git/hooks",
        ".git/config",
        ".git/commondir",
        ".git/modules/lib/hooks",
        ".git/worktrees/w/config.worktree",
        "a/b/.git/config",
        "tree/.git",
        ".claw",
        ".bashrc",
        ".config/fish",
    }
    assert not found & {".", ".git", "a/b/.git", "etc/profile"}


def test_missing_repositories_are_guarded_too_and_linked_ones_as_they_are(tmp_path: Path) -> None:
    assert tmp_path / ".git/hooks" in guarded_paths(tmp_path)
    (tmp_path / ".git").symlink_to("elsewhere")
    guarded = guarded_paths(tmp_path)
    assert tmp_path / ".git" in guarded
    assert tmp_path / ".git/hooks" not in guarded
