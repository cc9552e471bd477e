"""What would run or be obeyed at the user's next step stays as it was, and the user is told."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from claw.cancel import CancelToken
from claw.messages import ToolCall
from claw.session import Session
from claw.tools import coding_tools
from claw.tools.base import ToolContext
from claw.tools.sandbox.base import Inside
from tests.support.processes import gone_within
from tests.tools.sandbox.conftest import OpenBox, Places, SandboxedToolbox, contents, sandbox_of

HOOK = "#!/bin/sh\necho mine\n"
CONFIG = "[core]\n\tbare = false\n[alias]\n\tst = status\n"


@pytest.fixture
def repository(places: Places) -> Path:
    """A workspace with a hook, a config and claw's own settings."""
    git = places.ws / ".git"
    for name in ("hooks", "objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "hooks" / "pre-commit").write_text(HOOK)
    (git / "hooks" / "pre-commit").chmod(0o755)
    (git / "config").write_text(CONFIG)
    places.own.mkdir()
    (places.own / "config.toml").write_text('model = "m"\n')
    return places.ws


@pytest.mark.parametrize(
    "command",
    [
        "echo evil >> .git/hooks/pre-commit",
        "echo evil > .git/hooks/post-merge",
        "rm .git/hooks/pre-commit",
        "chmod -x .git/hooks/pre-commit && echo evil > .git/hooks/pre-commit",
        "ln -sf /bin/true .git/hooks/pre-commit",
        "echo evil > evil; mv evil .git/hooks/pre-commit",
        "mv .git/hooks .git/old; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        "mkdir evil; mv .git/hooks .git/old; ln -s ../evil .git/hooks",
        "git config core.fsmonitor evil",
        "echo '[core] fsmonitor = evil' >> .git/config",
        "mkfifo .git/hooks/post-merge",
        "unshare -Urm sh -c 'umount .git/hooks; mount -o remount,bind,rw .git/hooks;"
        " echo evil > .git/hooks/post-merge'; echo evil > .git/hooks/post-merge",
        "echo 'model = \"evil\"' > own/config.toml",
        "echo '{}' > own/more.json",
    ],
)
def test_a_command_changes_no_guarded_path(
    kind: str, open_box: OpenBox, repository: Path, places: Places, command: str
) -> None:
    before = contents(repository)
    text = open_box(kind, own_folders=[places.own]).call("bash", command=command).content
    after = contents(repository)
    assert {name: after.get(name) for name in before} == before
    assert not [name for name in after if "post-merge" in name or name.endswith("more.json")]
    assert (repository / ".git/hooks/pre-commit").stat().st_mode & 0o777 == 0o755
    if kind == "landlock":
        assert "by the command" in text
        assert "outside_sandbox=true asks the user" in text


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit", ".git/hooks"),
        ("mkdir -p .git; echo '[core] fsmonitor = evil' > .git/config", ".git/config"),
        ("echo 'gitdir: evil' > .git", ".git"),
        ("mkdir -p evil/hooks; ln -s evil .git", ".git"),
        ("mkdir .claw; echo x > .claw/config.toml", ".claw"),
        ("echo evil > .envrc", ".envrc"),
        ("echo '{}' > .mcp.json", ".mcp.json"),
        ("mkdir .vscode; echo '{}' > .vscode/tasks.json", ".vscode/tasks.json"),
        ("ln -s /etc/hostname .bashrc", ".bashrc"),
        ("echo 'ref: refs/heads/main' > HEAD; mkdir objects refs; : > config", "HEAD"),
    ],
)
def test_what_was_missing_is_moved_aside_and_told(
    confined: SandboxedToolbox, places: Places, command: str, name: str
) -> None:
    text = confined.text("bash", command=command)
    assert f"\n{name} was made by the command and has been moved aside, to {name}.aside-1\n" in text
    assert not os.path.lexists(places.ws / name)
    assert os.path.lexists(places.ws / f"{name}.aside-1")
    confined.call("bash", command=command)
    assert not os.path.lexists(places.ws / name)
    assert "moved aside" not in confined.text("bash", command="true")


def test_a_link_in_the_way_leads_claw_nowhere(confined: SandboxedToolbox, places: Places) -> None:
    other = places.out / "other"
    (other / "hooks").mkdir(parents=True)
    (other / "config").write_text(CONFIG)
    text = confined.text("bash", command=f"ln -s {other} .git")
    assert ".git was made by the command" in text
    assert sorted(os.listdir(other)) == ["config", "hooks"]
    assert os.listdir(places.ws) == [".git.aside-1"]


def test_a_plain_git_init_works(confined: SandboxedToolbox, places: Places) -> None:
    confined.env["HOME"] = str(places.out)
    text = confined.text(
        "bash",
        command="git init -q . && git config user.name n && git config user.email e && "
        "touch f && git add f && git commit -qm first && git log --oneline | wc -l",
    )
    assert text.splitlines()[1:] == ["1"]
    assert (places.ws / ".git" / "config").exists()


def test_git_goes_on_working(confined: SandboxedToolbox, places: Places) -> None:
    environ = {**os.environ, "HOME": str(places.out)}
    names = ["-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", "init", "-q", places.ws], check=True, env=environ)
    (places.ws / "f").write_text("1\n")
    confined.env["HOME"] = str(places.out)
    text = confined.output(
        f"git add f && git {' '.join(names)} commit -qm one && git switch -qc branch && "
        "git status --short && git stash list && git tag t && git log --format=%s"
    )
    assert text == "one\n"


def test_a_worktrees_git_file_stays(confined: SandboxedToolbox, places: Places) -> None:
    (places.out / "gitdir").mkdir()
    pointer = f"gitdir: {places.out}/gitdir\n"
    (places.ws / ".git").write_text(pointer)
    confined.call("bash", command="echo 'gitdir: evil' > .git")
    confined.call("bash", command="rm .git; mkdir .git")
    assert (places.ws / ".git").read_text() == pointer


def test_what_the_user_changes_between_commands_is_the_users(
    confined: SandboxedToolbox, repository: Path
) -> None:
    confined.text("bash", command="true")
    (repository / ".git" / "config").write_text("[user]\n\tname = me\n")
    (repository / ".envrc").write_text("mine\n")
    assert "by the command" not in confined.text("bash", command="true")
    assert (repository / ".envrc").read_text() == "mine\n"
    assert (repository / ".git" / "config").read_text() == "[user]\n\tname = me\n"


def test_what_a_command_has_left_running_is_watched_too(
    confined: SandboxedToolbox, places: Places
) -> None:
    confined.text("bash", command="mkfifo go; (cat go; echo evil > .envrc; : > go) > /dev/null &")
    (places.ws / "go").write_text("")
    (places.ws / "go").read_text()  # it has written
    assert "\n.envrc was made" in confined.text("bash", command="true")
    assert not (places.ws / ".envrc").exists()
    assert ".envrc" not in confined.text("bash", command="true")


@pytest.mark.parametrize("imitates", [True, False], ids=["the sandbox", "nothing"])
def test_it_is_watched_whatever_it_calls_itself(
    confined: SandboxedToolbox, places: Places, imitates: bool
) -> None:
    """A command line is what its owner says it is: this one says that it is the sandbox."""
    inside = Inside(["true"], places.ws)
    words = confined.sandbox.in_front or " ".join(confined.sandbox.command(inside)[:4])
    name = words if imitates else "innocent"
    evil = "read < go; echo evil > .envrc; : > go; exec sleep 400.42"  # no process besides
    command = f"mkfifo go; (exec -a {shlex.quote(name)} bash -c {shlex.quote(evil)}) > /dev/null &"
    confined.text("bash", command=command)
    (places.ws / "go").write_text("")
    (places.ws / "go").read_text()  # it has written
    assert "\n.envrc was made" in confined.text("bash", command="true")
    assert not (places.ws / ".envrc").exists()
    confined.close()
    assert gone_within(0.5, "400.42")


def test_without_the_environment_of_claw_it_is_watched_under_bubblewrap(
    open_box: OpenBox, places: Places
) -> None:
    """The first process of its own is the sandbox's, and lives as long as any of them."""
    box = open_box("bubblewrap")
    evil = "cat go; echo evil > .envrc; : > go"
    box.text("bash", command=f"mkfifo go; env -i setsid bash -c {shlex.quote(evil)} > /dev/null &")
    (places.ws / "go").write_text("")
    (places.ws / "go").read_text()
    assert "\n.envrc was made" in box.text("bash", command="true")
    assert not (places.ws / ".envrc").exists()


def test_the_end_of_the_session_looks_a_last_time(
    confined: SandboxedToolbox, places: Places, caplog: pytest.LogCaptureFixture
) -> None:
    confined.text("bash", command="mkfifo go; (cat go; echo evil > .envrc; : > go) > /dev/null &")
    (places.ws / "go").write_text("")
    (places.ws / "go").read_text()
    confined.close()
    assert not (places.ws / ".envrc").exists()
    assert ".envrc was made by the command" in caplog.text


def test_a_job_is_watched_too(confined: SandboxedToolbox, places: Places) -> None:
    command = "echo evil > .envrc; touch done; exec sleep 400.41"
    confined.text("bash", command=command, background=True)
    confined.text("bash", command="until [ -e done ]; do sleep 0.01; done", timeout_s=20)
    confined.text("bash", command="true")
    assert not (places.ws / ".envrc").exists()
    assert (places.ws / ".envrc.aside-1").exists()


def test_outside_the_sandbox_the_user_has_said_yes(
    confined: SandboxedToolbox, repository: Path
) -> None:
    command = "echo mine > .envrc; echo mine > .git/hooks/pre-commit"
    assert "by the command" not in confined.text("bash", command=command, outside_sandbox=True)
    assert "by the command" not in confined.text("bash", command="true")
    assert (repository / ".envrc").read_text() == "mine\n"
    assert (repository / ".git/hooks/pre-commit").read_text() == "mine\n"


def test_a_file_too_large_to_keep_is_told(open_box: OpenBox, places: Places) -> None:
    box = open_box("landlock")
    (places.ws / ".envrc").write_bytes(b"x" * 1_000_001)
    text = box.text("bash", command="echo evil >> .envrc")
    assert "the old one can't be put back, the new one is .envrc.aside-1" in text


def test_what_the_user_has_in_the_way_stays(confined: SandboxedToolbox, places: Places) -> None:
    (places.ws / ".config").write_text("a file of the project's\n")
    (places.ws / ".vscode").symlink_to("elsewhere")
    assert "by the command" not in confined.text("bash", command="true")
    assert sorted(os.listdir(places.ws)) == [".config", ".vscode"]


def test_a_flood_of_files_hides_nothing(open_box: OpenBox, repository: Path) -> None:
    box = open_box("landlock")
    box.text("bash", command="cd .git/hooks; touch {1..3000}.sample; echo evil > post-merge")
    assert os.listdir(repository / ".git" / "hooks") == ["pre-commit"]
    assert (repository / ".git" / "hooks" / "pre-commit").read_text() == HOOK


def test_a_name_breaks_no_line(confined: SandboxedToolbox, places: Places) -> None:
    command = "mkdir -p .git/hooks; printf x > $'.git/hooks/a\\n\\xffb'"
    (places.ws / ".git" / "hooks").mkdir(parents=True)
    lines = confined.call("bash", command=command).content.splitlines()
    if confined.sandbox.name == "bubblewrap":  # which holds a folder that is there
        assert lines[0].startswith("exit code 1")
        assert os.listdir(places.ws / ".git" / "hooks") == []
    else:
        assert lines[1].startswith(".git/hooks/a\\n\\xffb was made by the command")


def test_a_job_is_looked_at_when_it_ends(confined: SandboxedToolbox, places: Places) -> None:
    os.mkfifo(places.ws / "go")
    confined.text("bash", command="cat go; echo evil > .envrc", background=True)
    with open(places.ws / "go", "w"):  # waits for the job
        pass
    (job,) = confined.session.state("shell")["jobs"].all()
    job.wait(CancelToken(), 20)
    assert not (places.ws / ".envrc").exists()
    text = confined.text("job", action="read", id=1)
    assert "\n.envrc was made by the command and has been moved aside" in text
    assert ".envrc" not in confined.text("bash", command="true")


def test_what_a_job_did_is_told_at_the_end_of_the_session_at_the_latest(
    confined: SandboxedToolbox, places: Places, caplog: pytest.LogCaptureFixture
) -> None:
    os.mkfifo(places.ws / "go")
    confined.text("bash", command="cat go; echo evil > .envrc", background=True)
    with open(places.ws / "go", "w"):  # waits for the job
        pass
    (job,) = confined.session.state("shell")["jobs"].all()
    job.wait(CancelToken(), 20)
    confined.close()
    assert not (places.ws / ".envrc").exists()
    assert ".envrc was made by the command" in caplog.text


def test_every_call_of_a_tool_looks_at_what_still_runs(kind: str, places: Places) -> None:
    tools = {each.name: each for each in coding_tools(places.ws, sandbox=sandbox_of(kind, places))}
    with Session() as session:

        def call(name: str, **arguments: object) -> str:
            state = session.state(tools[name].family or name)
            context = ToolContext(
                ToolCall("1", name), CancelToken(), places.ws, dict(os.environ), state=state
            )
            result = tools[name].run(arguments, context)
            return result if isinstance(result, str) else result.content

        call("bash", command="mkfifo go; (cat go; echo evil > .envrc; : > go; sleep 400.43) &")
        (places.ws / "go").write_text("")
        (places.ws / "go").read_text()  # it has written
        call("todo", items=[])
        assert not (places.ws / ".envrc").exists()
        assert ".envrc was made by the command" in call("bash", command="true")


def test_a_command_outside_is_not_undone_by_a_job_that_ends(
    confined: SandboxedToolbox, places: Places
) -> None:
    os.mkfifo(places.ws / "go")
    confined.text("bash", command="cat go", background=True)
    end = "echo mine > .envrc; : > go; sleep 0.3"
    confined.text("bash", command=end, outside_sandbox=True)
    (job,) = confined.session.state("shell")["jobs"].all()
    job.wait(CancelToken(), 20)
    assert (places.ws / ".envrc").read_text() == "mine\n"
    assert "by the command" not in confined.text("bash", command="true")
