"""What runs unasked is run: it changes no file and starts nothing but listed programs.

The folder is somebody else's: its repository, attributes and programs are made to run or write
whatever they can. Only lines that pass by themselves are run; what a rule of the user or mode `all`
lets pass may change whatever it likes.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from claw.policy import Answer, Kind, PolicySettings, Request, judge
from claw.policy.read_only import TABLE
from claw.tools.shell import QUIET_ENV
from tests.policy.rows import GROUPS

STRACE = shutil.which("strace")
# bash itself, what stands in front of a command, and the programs that egrep and fgrep are.
STARTED = {*TABLE, "bash", "timeout", "sh", "dash"}
CHANGES = (
    "creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,"
    "symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,ftruncate,mknod,mknodat,"
    "utimensat,utime,utimes,setxattr,lsetxattr,fsetxattr,kill,tkill,bind,connect,mount,sethostname,"
    "settimeofday,clock_settime"
)
HOSTILE_ENV = {
    "LESSOPEN": "|./evil %s",
    "GREP_OPTIONS": "--include=x",
    "GIT_EXTERNAL_DIFF": "./evil",
    "GIT_PAGER": "./evil",
    "PAGER": "./evil",
    "MANPAGER": "./evil",
    "EDITOR": "./evil",
}
GIT_CONFIG = """\
[core]
\tfsmonitor = ./evil
\tpager = ./evil
\thooksPath = .
[diff]
\texternal = ./evil
[filter "x"]
\tclean = ./evil
"""


def unasked() -> list[str]:
    """The lines of the table that pass by themselves."""
    commands = {
        command: None
        for group in GROUPS
        if group.settings.get("mode", "ask") in ("ask", "none") and "granted" not in group.settings
        for command in group.allow
    }
    settings = PolicySettings(folders=("/ws",))
    return [
        command
        for command in commands
        if judge(Request("bash", {}, Kind.COMMAND, command.replace("$WS", "/ws")), settings).answer
        is Answer.ALLOW
    ]


def lay_out(root: Path) -> None:
    for folder in ("src", "tests", ".git", "nowhere"):
        (root / folder).mkdir(parents=True)
    names = ("a.txt", "b.txt", "c", "src/main.py", "x", "y", "a name with blanks.txt")
    for name in (*names, "-f", "-e", "--", "-", "-n", "-w"):
        (root / name).write_text("one: x,1\ntwo: y,2\nTODO def main class A:\n")
    for name in ("evil", "ls", "cat", "grep", "git", "find", "1", "5"):
        (root / name).write_text("#!/bin/sh\necho ran > pwned.txt\n")
        (root / name).chmod(0o755)
    outside = root.parent / "outside"
    outside.mkdir()
    for folder in ("src", "tests"):
        (outside / f"key of {folder}").write_text(f"one: x,1\nsecret {folder}\n")
        (root / folder / "key").symlink_to(outside / f"key of {folder}")
        (root / folder / "folder").symlink_to(outside)
    (root / ".git/config").write_text(GIT_CONFIG)
    (root / ".gitattributes").write_text("* filter=x diff=x\n")


def everything_in(root: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(root.rglob("*"))
    }


def run(command: str, root: Path, trace: Path | None) -> None:
    watch = (
        [
            STRACE,
            "-f",
            "-qq",
            "-y",
            "-s",
            "300",
            "-e",
            f"trace=execve,execveat,open,openat,{CHANGES}",
        ]
        if STRACE and trace
        else []
    )
    subprocess.run(
        [*watch, *(["-o", str(trace)] if watch else []), "bash", "-c", command],
        cwd=root,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(root),
            "LC_ALL": "C.UTF-8",
            **HOSTILE_ENV,
            **QUIET_ENV,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


def faults_in(trace: str) -> list[str]:
    """The system calls that changed something, wrote, read outside, or started a program that isn't
    listed."""
    faults = []
    for line in trace.splitlines():
        if " = -1 " in line or "(" not in line:
            continue
        call = re.sub(r"^\d+ +", "", line)
        name = call.partition("(")[0]
        path = (re.search(r'"((?:[^"\\]|\\.)*)"', call) or ["", ""])[1]
        if name.startswith("exec"):
            if os.path.basename(path) not in STARTED or not path.startswith(("/usr/", "/bin/")):
                faults.append(call)
        elif name in ("open", "openat"):
            writes = re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)", call)
            opened = call.rpartition(" = ")[2]  # with the file's real path
            if "/outside" in opened or (writes and path not in ("/dev/null", "/dev/tty")):
                faults.append(call)
        elif name in CHANGES.split(","):
            faults.append(call)
    return faults


def test_what_runs_unasked_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    lay_out(root)
    before = everything_in(root)
    for number, command in enumerate(unasked()):
        trace = tmp_path / f"{number}.trace"
        run(command.replace("$WS", str(root)), root, trace)
        assert everything_in(root) == before, command
        if STRACE:
            assert faults_in(trace.read_text()) == [], command
    assert number > 100


def generated(count: int, root: Path, chance: random.Random) -> list[str]:
    """Lines of options, hostile names and paths outside, of which these pass by themselves."""
    outside = root.parent / "outside"
    names = ["a.txt", "src", "tests", "x", ".", "-", "--", "-f", "-e", "-n", "-w", "1", "p"]
    names += [
        str(outside / "key of src"),
        "../outside/key of src",
        "src/key",
        "src/folder/key",
        "tests/folder",
    ]
    readers = [name for name, known in TABLE.items() if known.paths and shutil.which(name)]
    lines: dict[str, None] = {}
    while len(lines) < count:
        program = chance.choice(readers)
        known = TABLE[program]
        letters = [f"-{each}" for each in known.short + known.valued]
        options = [*letters, *sorted(known.long), *sorted(known.single)] or ["--"]
        words = [program, *{"sed": ["-n", "1p"], "diff": ["--no-dereference"]}.get(program, [])]
        for _ in range(chance.randint(2, 6)):
            kind = chance.random()
            if kind < 0.45:
                words.append(chance.choice(names))
            elif kind < 0.85:
                words.append(chance.choice(options).rstrip("="))
            else:
                words.append(chance.choice(options) + chance.choice(names).lstrip("-"))
        line = shlex.join(words)
        settings = PolicySettings(folders=(str(root),))
        verdict = judge(Request("bash", {}, Kind.COMMAND, line), settings)
        real = [Path(os.path.realpath(root / path)) for path in verdict.reads]
        if verdict.answer is Answer.ALLOW and all(path.is_relative_to(root) for path in real):
            lines[line] = None
    return list(lines)


@pytest.mark.parametrize(
    ("count", "seed"), [(150, 5), pytest.param(3_000, 6, marks=pytest.mark.stress)]
)
def test_generated_lines_that_run_unasked_change_nothing_and_read_nothing_outside(
    count: int, seed: int, tmp_path: Path
) -> None:
    root, trace = tmp_path / "ws", tmp_path / "trace"
    lay_out(root)
    before = everything_in(root)
    for line in generated(count, root, random.Random(seed)):
        run(line, root, trace)
        if STRACE:
            assert faults_in(trace.read_text()) == [], line
    assert everything_in(root) == before


@pytest.mark.parametrize(
    "command",
    ["echo x > f", "touch f", "find . -exec touch f ';'", "sort -o f a.txt", "./evil", "PATH=. ls"],
)
def test_the_check_sees_a_change(command: str, tmp_path: Path) -> None:
    root, trace = tmp_path / "ws", tmp_path / "trace"
    lay_out(root)
    before = everything_in(root)
    run(command, root, trace)
    assert everything_in(root) != before
    if STRACE:
        assert faults_in(trace.read_text())


@pytest.mark.skipif(not STRACE, reason="needs strace")
@pytest.mark.parametrize(
    "command", ["cat src/key", "ls src/folder", "diff src tests", "grep -R x ."]
)
def test_the_check_sees_what_is_read_outside(command: str, tmp_path: Path) -> None:
    root, trace = tmp_path / "ws", tmp_path / "trace"
    lay_out(root)
    run(command, root, trace)
    assert faults_in(trace.read_text())


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_why_no_git_command_is_in_the_table(tmp_path: Path) -> None:
    """A repository's own configuration runs its programs at a plain `git status`."""
    root = tmp_path / "ws"
    lay_out(root)
    shutil.rmtree(root / ".git")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True, env={"PATH": os.environ["PATH"]})
    with (root / ".git/config").open("a") as config:
        config.write(GIT_CONFIG)
    run("git status", root, None)
    assert (root / "pwned.txt").exists()
    settings = PolicySettings(folders=(str(root),))
    request = Request("bash", {}, Kind.COMMAND, "git status")
    assert judge(request, settings).answer is Answer.ASK
