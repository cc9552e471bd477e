"""`claw run`: what it prints where, what it reads, and how it leaves."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.anthropic import STOP, head, tail
from tests.support.anthropic import body as messages_body
from tests.support.anthropic import text as words
from tests.support.command import Shell, finished
from tests.support.server import (
    Server,
    Turn,
    flood,
    model,
    never_answer,
    one_delta_then_silence,
    reply,
    serve,
    status,
    stream,
)
from tests.support.wire import DONE, chunk, event

KEY = "sk-very-secret-0123456789"


def variables(server: Server, **more: str) -> dict[str, str]:
    return {"CLAW_BASE_URL": server.url, "CLAW_MODEL": "m", **more}


# --- standard output ----------------------------------------------------------------------------


def test_text_is_the_answer_alone_with_a_blank_line_between_steps(shell: Shell) -> None:
    look = Turn("I look.", (("call_1", "bash", {"command": "echo found"}),))
    with serve(model(look, "It is there.\n")) as server:
        done = shell.claw("run", "Look", "--approve", "all", **variables(server))
    assert done.out == "I look.\n\nIt is there.\n"
    assert "found" in done.err


def test_an_answer_that_the_server_paused_has_no_seam(shell: Shell) -> None:
    first = stream(messages_body(head(), words(0, "It is "), tail("pause_turn"), STOP))
    second = stream(messages_body(head(), words(0, "there."), tail(), STOP))
    with serve(first, second, first, second) as server:
        more = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY}
        arguments = ("run", "Look", "--provider", "anthropic", "--model", "m")
        assert shell.claw(*arguments, **more).out == "It is there.\n"
        done = shell.claw(*arguments, "--output", "json", **more)
    assert done.envelope["text"] == "It is there."
    assert server.requests[1].messages[1:] == [
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "It is ", "cache_control": {"type": "ephemeral"}}],
        }
    ]


def test_text_streams_as_it_comes(shell: Shell) -> None:
    with (
        serve(one_delta_then_silence) as server,
        shell.started("run", "Go", variables=variables(server)) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.read(3) == b"Hel"
        assert process.poll() is None


def test_its_time_is_up_also_while_nobody_reads_the_output(shell: Shell) -> None:
    with (
        serve(flood) as server,
        shell.started("run", "Go", "--timeout", "1", variables=variables(server)) as process,
    ):
        assert process.wait(30) == 3


def test_json_lines_are_flushed_as_they_come(shell: Shell) -> None:
    with (
        serve(one_delta_then_silence) as server,
        shell.started("run", "Go", "--output", "jsonl", variables=variables(server)) as process,
    ):
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "run_started"
        assert json.loads(process.stdout.readline()) == {"type": "text_delta", "text": "Hel"}
        assert process.poll() is None


def test_the_envelope_tells_the_whole_run(shell: Shell) -> None:
    call = Turn(calls=(("call_1", "bash", {"command": "echo hi; exit 3"}),))
    with serve(model(call, "Done: ✓")) as server:
        done = shell.claw("run", "Go", "--approve", "all", "--output", "json", **variables(server))
    envelope = done.envelope
    assert (envelope["text"], envelope["steps"], envelope["stop_reason"]) == (
        "Done: ✓",
        2,
        "end_turn",
    )
    assert envelope["usage"]["input_tokens"] == 7
    [summary] = envelope["tool_calls"]
    assert summary["name"] == "bash"
    assert summary["arguments"] == {"command": "echo hi; exit 3"}


def test_quiet_leaves_standard_error_empty(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        done = shell.claw("run", "Hi", "--quiet", **variables(server))
    assert (done.code, done.out, done.err) == (0, "Hello\n", "")


def test_an_encoding_without_the_letters_is_no_failure(shell: Shell) -> None:
    letters = rb'data: {"choices": [{"index": 0, "delta": {"content": "na\u00efve \ud83d"}}]}'
    with serve(stream(letters + b"\n\n", chunk({}, "stop"), DONE)) as server:
        done = shell.claw("run", "Hi", **variables(server, PYTHONIOENCODING="ascii"))
    assert (done.code, done.out) == (0, "na?ve ?\n")


# --- a standard output that goes away -----------------------------------------------------------


@pytest.mark.parametrize("mode", ["text", "jsonl"])
def test_a_closed_pipe_ends_the_run(shell: Shell, mode: str) -> None:
    with serve(flood) as server:
        arguments = ("run", "Go", "--output", mode)
        with shell.started(*arguments, variables=variables(server)) as process:
            assert process.stdout is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.wait(10) == 141
            assert process.stderr is not None
            assert b"Traceback" not in process.stderr.read()
        server.wait_disconnect()


def test_a_closed_standard_error_ends_it_as_quietly(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        script = '{ "$@" 2>&1 >&3; echo $? >&3; } 3>&1 | true'
        done = subprocess.run(
            ["sh", "-c", script, "sh", *shell.command("run", "Hi")],
            env=shell.environ(**variables(server)), cwd=shell.folder,
            capture_output=True, check=False, timeout=20,
        )  # fmt: skip
    assert done.stderr == b""


def test_no_standard_output_at_all(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        script = 'exec "$@" >&-'
        environ = shell.environ(**variables(server))
        done = subprocess.run(
            ["sh", "-c", script, "sh", *shell.command("run", "Hi")],
            env=environ, cwd=shell.folder, stderr=subprocess.PIPE, check=False, timeout=20,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (141, b"")
        assert server.requests == []


def test_no_standard_error_and_no_standard_input(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        script = 'exec "$@" 2>&- <&-'
        environ = shell.environ(**variables(server))
        done = subprocess.run(
            ["sh", "-c", script, "sh", *shell.command("run", "Hi")],
            env=environ, cwd=shell.folder, stdout=subprocess.PIPE, check=False, timeout=20,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"Hello\n")


def test_a_full_disk_is_an_error_not_a_success(shell: Shell) -> None:
    with (
        serve(reply("Hello")) as server,
        open("/dev/full", "wb") as full,
        shell.started("run", "Hi", variables=variables(server), stdout=full) as process,
    ):
        done = finished(process)
    assert done.code == 1
    assert "standard output can't be written: No space left" in done.err


@pytest.mark.parametrize("mode", ["text", "jsonl"])
def test_a_reader_that_stops_reading_does_not_keep_it_alive(shell: Shell, mode: str) -> None:
    with serve(flood) as server:
        arguments = ("run", "Go", "--output", mode)
        with shell.started(*arguments, variables=variables(server)) as process:
            wait_until_blocked(process)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 143


def wait_until_blocked(process: subprocess.Popen[bytes]) -> None:
    """Until the pipe is full: its size in bytes doesn't grow any more."""
    import fcntl
    import termios

    assert process.stdout is not None
    filled, before = 0, -1
    while filled == 0 or filled != before:
        before = filled
        select.select([], [], [], 0.2)
        size = fcntl.ioctl(process.stdout, termios.FIONREAD, b"\0\0\0\0")
        filled = int.from_bytes(size, "little")


# --- prompt and standard input ------------------------------------------------------------------


def sent(server: Server) -> str:
    """The user's message as the model got it."""
    return str(server.requests[0].messages[-1]["content"])


@pytest.mark.parametrize("arguments", [("run",), ("run", "-")])
def test_piped_input_is_the_prompt(shell: Shell, arguments: tuple[str, ...]) -> None:
    with serve(reply("Hello")) as server:
        done = shell.claw(*arguments, stdin="Grüße\n".encode(), **variables(server))
    assert done.code == 0
    assert sent(server) == "Grüße\n"


def test_piped_input_beside_a_prompt_is_its_context(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        shell.claw("run", "Sum up", stdin=b"a long text", **variables(server))
    assert sent(server).startswith("Sum up\n")
    assert "a long text" in sent(server)


def test_a_file_as_input_beside_a_prompt_is_read(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("from a file")
    with serve(reply("Hello")) as server, open(file) as notes:
        shell.claw("run", "Sum up", stdin=notes.fileno(), **variables(server))
    assert "from a file" in sent(server)


def test_no_input_beside_a_prompt_adds_nothing(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        shell.claw("run", "Sum up", **variables(server))
        assert sent(server) == "Sum up"
        shell.claw("run", "Sum up", stdin=b"", **variables(server))
    assert str(server.requests[1].messages[-1]["content"]) == "Sum up"


def test_an_open_silent_input_is_given_up_on_with_a_notice(shell: Shell) -> None:
    reading, writing = os.pipe()
    try:
        with serve(reply("Hello")) as server:
            begun = time.monotonic()
            done = shell.claw("run", "Sum up", stdin=reading, **variables(server))
            took = time.monotonic() - begun
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.code, sent(server)) == (0, "Sum up")
    assert "open pipe that says nothing" in done.err
    assert took >= 3


def test_a_signal_ends_the_wait_for_input(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        given = variables(server)
        with shell.started("run", "-", variables=given, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.write(b"the beginning")
            process.stdin.flush()
            wait_until_ready(process)
            process.send_signal(signal.SIGTERM)
            assert process.wait(5) == 143
    assert server.requests == []


def wait_until_ready(process: subprocess.Popen[bytes]) -> None:
    """Until the signal handlers are in place: SIGTERM is caught."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:") and int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
                return
        select.select([], [], [], 0.01)
    raise AssertionError("the handlers never came")


def test_too_much_input_is_refused(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        done = shell.claw("run", "Sum up", stdin=b"x" * 10_000_001, **variables(server))
    assert (done.code, "over 10 MB" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "stdin"), [(("run", " "), b""), (("run",), b""), (("run", "-"), b" \n")]
)
def test_an_empty_prompt_is_refused(shell: Shell, arguments: tuple[str, ...], stdin: bytes) -> None:
    with serve(reply("Hello")) as server:
        done = shell.claw(*arguments, stdin=stdin, **variables(server))
    assert (done.code, "the prompt is empty" in done.err) == (2, True)
    assert server.requests == []


# --- Ctrl-C -------------------------------------------------------------------------------------


def test_a_second_ctrl_c_leaves_with_an_envelope(shell: Shell) -> None:
    """The tool here is deaf to the first one for a second."""
    (shell.home / "deaf.py").write_text(
        "import time\n"
        "def sleep(fifo: str) -> str:\n"
        "    'Sleeps.'\n"
        "    open(fifo, 'w').close()\n"
        "    time.sleep(20)\n"
        "    return ''\n"
    )
    fifo = shell.home / "fifo"
    os.mkfifo(fifo)
    shell.config.write_text('tools = ["deaf:sleep"]\n')
    with serve(model(Turn(calls=(("c", "sleep", {"fifo": str(fifo)}),)))) as server:
        given = variables(server, PYTHONPATH=os.pathsep.join([str(shell.home), shell.package]))
        arguments = ("run", "Go", "--output", "json", "--approve", "all")
        with shell.started(*arguments, variables=given) as process:
            fifo.read_bytes()  # until the tool runs
            process.send_signal(signal.SIGINT)
            select.select([], [], [], 0.2)
            process.send_signal(signal.SIGINT)
            done = finished(process)
    assert (done.code, done.envelope["status"]) == (130, "cancelled")


def test_cancelled_before_anything_was_sent(shell: Shell) -> None:
    with serve(never_answer) as server:
        given = variables(server)
        with shell.started("run", "Go", "--output", "json", variables=given) as process:
            server.wait_request()
            process.send_signal(signal.SIGINT)
            done = finished(process)
    assert (done.code, done.envelope["status"]) == (130, "cancelled")
    assert "interrupted" in done.err


# --- bad input ----------------------------------------------------------------------------------


def one_line(words: str, err: str) -> bool:
    return words in err and err.startswith("claw: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "given", "words"),
    [
        (("--provider", "openai"), {"OPENAI_API_KEY": "k"}, "no model is set"),
        (("--provider", "opnai", "--model", "m"), {}, 'did you mean "openai"'),
        (("--base-url", "localhost:8080", "--model", "m"), {}, "--base-url: "),
        (("--provider", "openai", "--model", "m"), {}, "set OPENAI_API_KEY"),
        (("--provider", "groq", "--model", "m"), {"GROQ_API_KEY": KEY + "\n"}, "GROQ_API_KEY: "),
        (("--base-url", "http://h/v1", "--model", "m", "-C", "file"), {}, "this is a file"),
        (("--base-url", "http://h/v1", "--model", "m", "-C", "no"), {}, "no such folder"),
        (("--base-url", "http://h/v1", "--model", "m"), {"CLAW_HOME": "file"}, "file"),
        (("--base-url", "http://h/v1", "--model", "m"), {"CLAW_HOME": "~nobody-/x"}, "no home"),
        (("--base-url", "http://h/v1", "--model", "m", "-C", "~nobody-"), {}, "no home"),
        (("--base-url", "http://h/v1", "--model", "m", "--add-dir", "~nobody-"), {}, "no home"),
        (("--base-url", "http://h/v1", "--model", "m", "--system-file", "~nobody-"), {}, "no home"),
    ],
)
def test_bad_settings_are_one_line_and_exit_2(
    shell: Shell, arguments: tuple[str, ...], given: dict[str, str], words: str
) -> None:
    (shell.folder / "file").touch()
    done = shell.claw("run", "Hi", *arguments, **given)
    assert (done.code, one_line(words, done.err)) == (2, True), done
    assert KEY not in done.err
    enveloped = shell.claw("run", "Hi", "--output", "json", *arguments, **given)
    assert enveloped.code == 2
    assert enveloped.envelope["error"]["kind"] == "config"


@pytest.mark.parametrize("text", ["model = ", "[limits]\nmax_steps = 'x'", "a = " + "[" * 3000])
def test_a_bad_config_file_is_one_line(shell: Shell, text: str) -> None:
    shell.config.write_text(text)
    done = shell.claw("run", "Hi")
    assert (done.code, one_line(str(shell.config), done.err)) == (2, True), done


def test_a_config_file_that_cannot_be_read(shell: Shell) -> None:
    shell.config.mkdir()
    done = shell.claw("run", "Hi")
    assert (done.code, one_line("can't be read", done.err)) == (2, True), done


def test_an_unknown_setting_is_a_warning(shell: Shell) -> None:
    shell.config.write_text('modle = "x"\n')
    with serve(reply("Hello")) as server:
        done = shell.claw("run", "Hi", **variables(server))
    assert done.code == 0
    assert 'did you mean "model"?' in done.err


def test_an_unreachable_server(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    done = shell.claw("run", "Hi", "--output", "json", "--base-url", url, "--model", "m")
    assert (done.code, done.envelope["error"]["kind"]) == (1, "connect")
    assert f"127.0.0.1:{port}" in done.err


def test_a_traceback_only_when_asked_for(shell: Shell) -> None:
    given = ("run", "Hi", "--provider", "nobody")
    assert "Traceback" not in shell.claw(*given).err
    assert "Traceback" in shell.claw(*given, "--verbose").err


# --- the key ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["text", "json", "jsonl"])
def test_a_key_that_the_server_echoes_is_never_shown(
    shell: Shell, mode: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    arguments = ("run", "Hi", "--verbose", "--log-file", str(log), "--output", mode)
    for behaviour in (
        status(401, f"wrong key: {KEY}"),
        status(400, f"Bearer {KEY}"),
        stream(event({"error": {"message": f"the key {KEY} is used up"}})),
    ):
        with serve(behaviour) as server:
            done = shell.claw(*arguments, **variables(server, CLAW_API_KEY=KEY))
            assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert done.code == 1
        assert KEY not in done.out + done.err + log.read_text()


def test_tools_do_not_see_the_key(shell: Shell) -> None:
    call = Turn(calls=(("call_1", "bash", {"command": "env"}),))
    shell.config.write_text('[presets.mine]\nkey_variable = "MINE"\n')
    given = {"CLAW_API_KEY": KEY, "COPY": KEY, "GROQ_API_KEY": "groqs", "MINE": "my-own"}
    with serve(model(call, "Done")) as server:
        done = shell.claw("run", "Go", "--approve", "all", **variables(server, **given))
        result = server.requests[1].messages[-1]["content"]
    assert done.code == 0
    assert "HOME=" in result
    assert KEY not in result
    assert "groqs" not in result
    assert "my-own" not in result


def test_a_makers_key_stays_at_home(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        given = variables(server, CLAW_PROVIDER="openai", OPENAI_API_KEY=KEY)
        assert shell.claw("run", "Hi", **given).code == 0
    assert "authorization" not in server.requests[0].headers


# --- what the model is told ---------------------------------------------------------------------


def system(server: Server, request: int = 0) -> str:
    first = server.requests[request].messages[0]
    assert first["role"] == "system"
    return str(first["content"])


def test_the_system_prompt_is_the_same_bytes_each_time(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        for _ in range(2):
            shell.claw("run", "Hi", **variables(server))
    assert system(server, 0) == system(server, 1)
    assert str(shell.folder) in system(server)
    for name in ("read_file", "edit_file", "bash"):
        assert name in system(server)


def test_a_system_file_takes_its_place(shell: Shell) -> None:
    (shell.folder / "mine.txt").write_text("You are a poet.\n")
    with serve(reply("Hello")) as server:
        shell.claw("run", "Hi", "--system-file", "mine.txt", **variables(server))
    assert system(server) == "You are a poet."


@pytest.mark.parametrize("trusted", [True, False, None])
def test_agents_md_counts_in_a_trusted_folder_alone(shell: Shell, trusted: bool | None) -> None:
    (shell.folder / "AGENTS.md").write_text("Answer in Latin.")
    if trusted is not None:
        answers = {str(shell.folder.resolve()): trusted}
        (shell.home / "trust.json").write_text(json.dumps(answers))
    with serve(reply("Salve")) as server:
        done = shell.claw("run", "Hi", **variables(server))
    assert ("Answer in Latin." in system(server)) == (trusted is True)
    assert ("AGENTS.md: not read" in done.err) == (trusted is None)


def test_the_limits_reach_the_request(shell: Shell) -> None:
    with serve(reply("Hello")) as server:
        shell.claw("run", "Hi", "--max-output-tokens", "77", **variables(server))
        assert server.requests[0].body["max_tokens"] == 77
        given = {"CLAW_MODEL": "m", "OPENAI_BASE_URL": server.url}
        shell.claw("run", "Hi", "--max-output-tokens", "77", "--provider", "openai", **given)
    assert server.requests[1].body["max_completion_tokens"] == 77


# --- the user's own tools -----------------------------------------------------------------------


def test_tools_of_the_user(shell: Shell) -> None:
    (shell.home / "mine.py").write_text(
        "def weather(place: str) -> str:\n    'The weather.'\n    return f'sun in {place}'\n"
    )
    shell.config.write_text('tools = ["mine:weather"]\n')
    call = Turn(calls=(("call_1", "weather", {"place": "Oslo"}),))
    with serve(model(call, "Sun")) as server:
        given = variables(server, PYTHONPATH=os.pathsep.join([str(shell.home), shell.package]))
        done = shell.claw("run", "Go", "--approve", "all", **given)
        assert server.requests[1].messages[-1]["content"] == "sun in Oslo"
    assert done.code == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mine", "must be written"),
        ("missing_module:f", "No module named"),
        ("json:missing", "no attribute"),
        ("json:__doc__", "can't be used"),
    ],
)
def test_a_tool_that_cannot_be_used_is_one_line(shell: Shell, name: str, words: str) -> None:
    shell.config.write_text(f'tools = ["{name}"]\n')
    done = shell.claw("run", "Hi", "--base-url", "http://127.0.0.1:1", "--model", "m")
    assert (done.code, one_line(words, done.err), f'"{name}"' in done.err) == (2, True, True), done
