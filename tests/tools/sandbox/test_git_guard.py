"""What git would run at the user's next step stays as it was, in every repository that there is."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from claw.tools.git_folders import MOST_FOLDERS
from tests.tools.sandbox.conftest import OpenBox, Places, SandboxedToolbox, contents, sandbox_of

GIT = "git -c user.name=n -c user.email=e -c protocol.file.allow=always"


@pytest.fixture
def real_repository(places: Places) -> Path:
    """A workspace that git has made, with a commit, and a submodule whose name has a slash."""
    run(
        f"git init -q lib && cd lib && echo 1 > f && git add f && {GIT} commit -qm one && cd .. &&"
        f" git init -q ws && cd ws && echo 1 > f && git add f && {GIT} commit -qm one && "
        f"{GIT} submodule --quiet add ../lib libs/lib && {GIT} commit -qm two",
        places.ws.parent,
    )
    return places.ws


def run(command: str, folder: Path) -> None:
    environ = {**os.environ, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["sh", "-ec", command], cwd=folder, env=environ, check=True)


@pytest.mark.parametrize(
    "command",
    [
        "echo evil > .git/modules/libs/lib/hooks/post-checkout",
        "git -C libs/lib config core.fsmonitor evil",
        "git config -f .git/modules/libs/lib/config core.fsmonitor evil",
    ],
)
def test_a_submodule_is_guarded_whatever_its_name(
    confined: SandboxedToolbox, real_repository: Path, command: str
) -> None:
    git = real_repository / ".git/modules/libs/lib"
    before = contents(git)
    confined.call("bash", command=command)
    assert contents(git) == before


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("git clone -q . new; git -C new config core.fsmonitor evil", ["new/.git/config"]),
        ("git init -q new; echo x > new/.git/hooks/pre-commit", ["new/.git/hooks"]),
        ("git init -q --bare new; git -C new config core.fsmonitor evil", ["new/config"]),
        ("git init -q --bare new; echo x > new/hooks/pre-commit", ["new/hooks"]),
        ("git worktree add -q new; git -C new rev-parse HEAD; echo 'gitdir: evil' > new/.git",
         ["new/.git"]),
        ("git init -q new; ln -s evil new/.git/hooks/pre-commit", ["new/.git/hooks"]),
        ("mkdir -p a/b/new; cd a/b/new; git init -q; git config alias.x '!evil'",
         ["a/b/new/.git/config"]),
    ],
)  # fmt: skip
def test_what_a_new_repository_would_run_is_moved_aside(
    confined: SandboxedToolbox, real_repository: Path, command: str, names: list[str]
) -> None:
    text = confined.text("bash", command=command)
    for name in names:
        assert f"\n{name} was made by the command and has been moved aside" in text
        assert not os.path.lexists(real_repository / name)


@pytest.mark.parametrize(
    "command",
    [
        "git init -q new",
        "git clone -q . new && git -C new status --short",
        "git clone -q --bare . new",
        "git worktree add -q new && git -C new status --short",
        "git init -q new && (cd new && echo 1 > f && git add f && $GIT commit -qm one)",
    ],
)
def test_a_plain_new_repository_stays(
    confined: SandboxedToolbox, real_repository: Path, command: str
) -> None:
    confined.env |= {"GIT": GIT, "HOME": str(real_repository.parent)}
    assert confined.output(command) == ""
    assert not list(real_repository.rglob("*.aside-*"))
    assert confined.exit_code("git -C new rev-parse --git-dir") == 0


def test_a_repository_beyond_many_folders_is_guarded(
    confined: SandboxedToolbox, places: Places
) -> None:
    for number in range(300):
        (places.ws / f"a{number:03}").mkdir()
    run("git init -q ws/zzz", places.ws.parent)
    before = contents(places.ws)
    confined.call(
        "bash", command="git -C zzz config core.fsmonitor evil; echo x > zzz/.git/hooks/h"
    )
    assert contents(places.ws) == before


def test_where_not_every_folder_can_be_looked_at_it_is_told_and_commands_are_asked_about(
    kind: str, open_box: OpenBox, places: Places
) -> None:
    run("git init -q ws/zzz", places.ws.parent)
    before = contents(places.ws / "zzz")
    box = open_box(kind)
    text = box.text("bash", command=f"mkdir -p many && cd many && mkdir {{1..{MOST_FOLDERS}}}")
    words = f"the workspace has more than {MOST_FOLDERS:,} folders now"
    assert f"({words}: repositories beyond them aren't guarded)" in text
    if kind == "bubblewrap":
        assert (box.caution("bash", command="ls") or "").startswith(words)
    hidden = "mkdir a{1..99}; mkdir a{1..99}/{1..99} && mkdir -p zzz/x && mv zzz zzzz; mv zzzz zzz"
    box.call("bash", command=f"{hidden}; echo x > zzz/.git/hooks/pre-commit")
    assert contents(places.ws / "zzz") == before  # known from before: not lost from sight
    other = open_box(kind)
    assert not other.sandbox.full
    assert "repositories beyond them aren't guarded" in other.sandbox.about()
    assert other.caution("bash", command="ls") is None  # asked about as without a sandbox


def test_hooks_that_git_is_told_of_are_guarded(confined: SandboxedToolbox, places: Places) -> None:
    run("git init -q ws && git -C ws config core.hooksPath scripts/hooks", places.ws.parent)
    (places.ws / "scripts").mkdir()
    confined.call("bash", command="mkdir -p scripts/hooks; echo x > scripts/hooks/pre-commit")
    confined.call("bash", command="mkdir -p .husky; echo x > .husky/pre-commit")
    assert not (places.ws / "scripts/hooks").exists()
    assert not (places.ws / ".husky").exists()


@pytest.mark.parametrize("sort", ["worktree", "submodule"])
@pytest.mark.parametrize("where", ["/var/tmp", "/tmp"])
def test_git_works_in_a_folder_whose_git_folder_lies_elsewhere(
    kind: str, where: str, sort: str
) -> None:
    base = Path(tempfile.mkdtemp(prefix="claw-tests-", dir=where)).resolve()
    try:
        run(
            f"git init -q lib && cd lib && echo 1 > f && git add f && {GIT} commit -qm one && cd .."
            f" && git init -q main && cd main && {GIT} submodule --quiet add ../lib libs/lib && "
            f"{GIT} commit -qm two && git worktree add -q ../tree",
            base,
        )
        tree = base / ("tree" if sort == "worktree" else "main/libs/lib")
        git = base / "main/.git" / ("worktrees/tree" if sort == "worktree" else "modules/libs/lib")
        before = contents(base / "main/.git")
        places = Places(tree, base / "out", base / "own")
        box = SandboxedToolbox(tree, sandbox_of(kind, places))
        try:
            box.env |= {"GIT": GIT, "HOME": str(base)}
            box.text("bash", command="echo 2 > g")
            assert box.output("git add g && $GIT commit -qm three && git log -1 --format=%s") == (
                "three\n"
            )
            for evil in (
                f"echo x > {git}/hooks/pre-commit; mkdir {git}/hooks",
                f"echo x > {base}/main/.git/hooks/pre-commit",
                "git config core.fsmonitor evil",
                "git config --worktree core.fsmonitor evil",
                f"echo x > {git}/commondir",
                f"echo evil > {git}/config.worktree",
            ):
                box.call("bash", command=evil)
        finally:
            box.close()
        after = contents(base / "main/.git")
        changed = {
            name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
        }
        runs = {
            name for name in changed if "hooks" in name or "config" in name or "commondir" in name
        }
        assert not runs
    finally:
        shutil.rmtree(base)


def test_a_git_folder_that_does_not_lead_back_is_somebody_else_s(
    confined: SandboxedToolbox, places: Places, open_box: OpenBox
) -> None:
    run("git init -q out", places.ws.parent)
    (places.ws / ".git").write_text(f"gitdir: {places.out}/.git\n")
    box = open_box(confined.sandbox.name)
    assert box.exit_code(f"touch {places.out}/.git/index.lock")
