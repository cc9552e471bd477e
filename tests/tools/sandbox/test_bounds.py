"""What a confined command can't do, tried by commands that try it."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claw.tools.sandbox.base import Inside
from tests.tools.sandbox.conftest import OpenBox, Places, SandboxedToolbox

PYTHON = shlex.quote(os.path.realpath(sys.executable))


def python(program: str) -> str:
    """The command line that runs a program of Python's."""
    return f"{PYTHON} -I -S -c {shlex.quote(program)}"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > $OUT/new",
        "mkdir $OUT/new",
        "ln -s / $OUT/new",
        "mkfifo $OUT/new",
        "echo x > old; mv old $OUT/new",
        "mv $OUT/old new",
        "rm $OUT/old",
        "echo x >> $OUT/old",
        ": > $OUT/old",
        "truncate -s 0 $OUT/old",
        "cp /dev/null $OUT/old",
        "ln -s $OUT link && echo x > link/old",
        "ln -s $OUT/old link && echo x > link",
        "ln -s $OUT/new link && echo x > link",
        "ln $OUT/old hard && echo x > hard",
        "cd $OUT && echo x > old",
        "bash -c 'setsid bash -c \"echo x > $OUT/old\"' && false",
    ],
)
def test_nothing_outside_is_changed(
    confined: SandboxedToolbox, places: Places, command: str
) -> None:
    (places.out / "old").write_text("old")
    confined.env["OUT"] = str(places.out)
    assert confined.exit_code(command)
    assert os.listdir(places.out) == ["old"]
    assert (places.out / "old").read_text() == "old"


def test_inside_all_is_as_ever(confined: SandboxedToolbox, places: Places) -> None:
    command = (
        "mkdir -p a/b && echo 1 > a/b/f && mv a/b/f a/g && ln -s g a/link && ln a/g a/hard"
        " && echo 2 >> a/hard && cat a/link && rm -r a/b && mkfifo pipe && echo $PWD && rm pipe"
        " && chmod 700 a && truncate -s 2 a/g && wc -c < a/g"
    )
    assert confined.output(command) == f"1\n2\n{places.ws}\n2\n"
    assert (places.ws / "a" / "g").read_text() == "1\n"


def test_temporary_files_are_the_sessions_own(confined: SandboxedToolbox) -> None:
    confined.text("bash", command="echo kept > $TMPDIR/x && mktemp && echo gone > /dev/null")
    folder = Path(confined.output("cat $TMPDIR/x; echo $TMPDIR").split()[1])
    assert (folder / "x").read_text() == "kept\n"  # the same name outside, for read_file
    assert folder.stat().st_mode & 0o077 == 0
    confined.close()
    assert not folder.exists()


def test_slash_tmp_is_a_folder_of_its_own(open_box: OpenBox) -> None:
    box = open_box("bubblewrap")
    name = f"claw-test-{os.getpid()}"
    assert box.output(f"echo 1 > /tmp/{name}; cat $TMPDIR/{name} /tmp/{name}") == "1\n1\n"
    assert not Path("/tmp", name).exists()


def test_the_whole_of_a_long_output_can_be_read_by_the_next_command(
    confined: SandboxedToolbox,
) -> None:
    text = confined.text("bash", command="seq 1 20000")
    path = text.split("the whole output is in ")[1].split(" ...]")[0]
    assert confined.output(f"grep -n 12345 {path}") == "12345:12345\n"
    assert confined.exit_code(f"echo x >> {path}")
    assert Path(path).read_text().endswith("20000\n")


def test_added_folders_are_inside(kind: str, open_box: OpenBox, places: Places) -> None:
    box = open_box(kind, add_dirs=[places.out])
    assert box.output(f"echo 1 > {places.out}/f; cat {places.out}/f") == "1\n"
    assert (places.out / "f").read_text() == "1\n"


@contextmanager
def listener(kind: socket.SocketKind, address: str | tuple[str, int]) -> Iterator[socket.socket]:
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    with socket.socket(family, kind) as server:
        server.bind(address)
        if kind is socket.SOCK_STREAM:
            server.listen()
        server.settimeout(0.2)
        yield server


def reached(box: SandboxedToolbox, server: socket.socket) -> bool:
    """Whether a command gets five bytes to the server."""
    kind = "SOCK_STREAM" if server.type is socket.SOCK_STREAM else "SOCK_DGRAM"
    family = "AF_UNIX" if server.family is socket.AF_UNIX else "AF_INET"
    address = server.getsockname()
    box.call(
        "bash",
        command=python(
            f"import socket; s = socket.socket(socket.{family}, socket.{kind});"
            f"s.settimeout(2); s.connect({address!r}); s.send(b'hello')"
        ),
    )
    try:
        if server.type is socket.SOCK_STREAM:
            with server.accept()[0] as connection:
                return connection.recv(5) == b"hello"
        return server.recv(5) == b"hello"
    except TimeoutError:
        return False


@pytest.mark.parametrize("protocol", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["tcp", "udp"])
def test_the_network_is_reached_only_where_it_is_allowed(
    kind: str, open_box: OpenBox, protocol: socket.SocketKind
) -> None:
    with listener(protocol, ("127.0.0.1", 0)) as server:
        assert not reached(open_box(kind), server)
        assert reached(open_box(kind, net=True), server)
        assert reached(open_box("none"), server)  # or the test would prove nothing


@pytest.mark.parametrize("net", [False, True])
@pytest.mark.parametrize("style", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["stream", "dgram"])
def test_socket_files_of_other_programs_are_not_reached(
    kind: str, open_box: OpenBox, places: Places, style: socket.SocketKind, net: bool
) -> None:
    (places.out / "real").mkdir()
    (places.out / "link").symlink_to("real")
    with listener(style, f"{places.out}/link/s") as server:
        assert reached(open_box("none"), server)
        assert not reached(open_box(kind, net=net), server)


def test_a_socket_file_in_the_workspace_is_not_reached_either(
    confined: SandboxedToolbox, places: Places, open_box: OpenBox
) -> None:
    with listener(socket.SOCK_STREAM, f"{places.ws}/s") as server:
        assert reached(open_box("none"), server)
        assert not reached(confined, server)


def test_abstract_sockets_are_not_reached(confined: SandboxedToolbox, open_box: OpenBox) -> None:
    with listener(socket.SOCK_STREAM, f"\0claw-test-{os.getpid()}") as server:
        assert reached(open_box("none"), server)
        assert not reached(confined, server)


def test_a_commands_own_sockets_work_under_bubblewrap(open_box: OpenBox) -> None:
    program = (
        "import socket; a = socket.create_server(('127.0.0.1', 0));"
        "b = socket.create_connection(a.getsockname()); print('tcp');"
        "c = socket.socket(socket.AF_UNIX); c.bind('s'); c.listen();"
        "d = socket.socket(socket.AF_UNIX); d.connect('s'); print('unix')"
    )
    assert open_box("bubblewrap").output(python(program)) == "tcp\nunix\n"


def test_pairs_of_sockets_work(confined: SandboxedToolbox) -> None:
    assert confined.output(python("import socket; socket.socketpair(); print('ok')")) == "ok\n"


def test_claws_own_environment_and_memory_are_not_readable(kind: str, open_box: OpenBox) -> None:
    # The environment of a process as /proc shows it is the one it was started with.
    with started([sys.executable, "-c", "input()"], {"SECRET": "s3cr3t"}) as claw:
        for name, found in (("none", 1), (kind, 0)):
            box = open_box(name)
            count = "cat /proc/[0-9]*/environ 2>/dev/null | grep -ac SECRET=s3cr3t; true"
            assert box.output(count) == f"{found}\n", name
            assert (box.exit_code(f": < /proc/{claw}/mem") == 0) is bool(found), name


@contextmanager
def started(argv: list[str], env: dict[str, str]) -> Iterator[int]:
    """A process that waits; its number."""
    process = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE)
    try:
        yield process.pid
    finally:
        process.communicate(b"\n")


def test_no_process_outside_can_be_signalled(confined: SandboxedToolbox) -> None:
    assert confined.exit_code(f"kill -0 {os.getpid()}") == 1


def test_root_keeps_no_power_over_the_system(confined: SandboxedToolbox) -> None:
    """Looked at, not tried: a sandbox that fails here shall not cost the machine its settings."""
    status = confined.output("cat /proc/self/status")
    effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
    # CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID: what files and users need.
    assert int(effective.split()[1], 16) & ~0b1111_1011 == 0
    assert "NoNewPrivs:\t1" in status


def test_the_kernels_settings_are_read_only_under_bubblewrap(open_box: OpenBox) -> None:
    box = open_box("bubblewrap")
    settings = "/proc/sys/kernel/core_pattern /proc/irq /sys/kernel /proc/sysrq-trigger"
    for name in settings.split():
        assert box.exit_code(f"test -w {name}") == 1, name


def test_terminals_and_shared_memory_are_not_written(
    confined: SandboxedToolbox, open_box: OpenBox
) -> None:
    """Looked at on a terminal of the test's own."""
    master, slave = os.openpty()
    try:
        attempt = f": >> {os.ttyname(slave)}"
        assert open_box("none").exit_code(attempt) == 0  # or the test would prove nothing
        assert confined.exit_code(attempt) == 1
    finally:
        os.close(master)
        os.close(slave)
    name = f"/dev/shm/claw-test-{os.getpid()}"
    confined.call("bash", command=f": > {name}")
    assert not os.path.exists(name)


def test_many_commands_at_once(places: Places, open_box: OpenBox) -> None:
    box = open_box("bubblewrap")
    argv = box.sandbox.command(Inside(["sh", "-c", "exit 7"], places.ws))
    codes: list[int] = []

    def run() -> None:
        codes.append(os.spawnv(os.P_WAIT, argv[0], argv))

    threads = [threading.Thread(target=run) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [7, 7, 7, 7]
