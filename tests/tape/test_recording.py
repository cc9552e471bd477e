"""What is put on a tape, what isn't, and what happens when it can't be."""

from __future__ import annotations

import json
import os
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from claw import MemoryReporter, ToolContext, tool
from claw.approval import allow_all
from claw.engine import Engine
from claw.errors import ConfigError
from claw.events import RunStatus
from claw.providers import AnthropicMessages, OpenAIChat, ScriptedProvider
from claw.providers.scripted import text_turn
from claw.session import Session
from claw.tape import Recorder, read_tape, replay
from claw.tape.masking import Secrets
from tests.support.server import Turn, cut_after, model, reply, serve, status
from tests.support.taping import KEY, played, record
from tests.support.wire import DONE, chunk, text


@tool
def leak(name: str, context: ToolContext) -> str:
    """Prints the key."""
    context.output(f"{KEY}\n")
    return f"the key is {KEY}"


def scripted(*texts: str) -> Engine:
    return Engine(ScriptedProvider(*map(text_turn, texts)))


def test_it_is_for_the_users_eyes_only_and_begins_with_a_header(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with serve(reply("Hello")) as server:
            provider = AnthropicMessages("claude", base_url=server.url, proxies={}, max_retries=0)
            with closing(provider):
                taped = record(tmp_path / "tape", Engine(provider), "go")
    finally:
        os.umask(old)
    assert stat.S_IMODE(taped.path.stat().st_mode) == 0o600
    header = json.loads(taped.text.splitlines()[0])
    assert header.keys() == {"type", "version", "claw", "dialect", "model", "created"}
    assert (header["version"], header["dialect"], header["model"]) == (1, "anthropic", "claude")


def test_the_wire_is_on_it_as_it_was(tmp_path: Path) -> None:
    pieces = [chunk({"role": "assistant"}), text("Grüße \u2028"), chunk({}, "stop"), DONE]
    with (
        serve(cut_after(*pieces)) as server,
        closing(OpenAIChat("m", base_url=server.url, proxies={})) as provider,
    ):
        taped = record(tmp_path / "tape", Engine(provider), "go")
    exchange = taped.tape.runs[1].steps[1].last
    assert exchange is not None
    assert b"".join(data for _, data in exchange.pieces) == b"".join(pieces)
    assert exchange.body.encode() == server.requests[0].raw
    assert (exchange.status, exchange.headers) == (200, {"Content-Type": "text/event-stream"})
    times = [at for at, _ in exchange.pieces]
    assert times == sorted(times)
    assert times[0] >= exchange.at


def test_no_key_is_on_it(tmp_path: Path) -> None:
    refused = status(400, f"the key {KEY} is odd: 'stream_options' is not supported")
    turns = model(Turn(f"I say {KEY}", (("c1", "leak", {"name": KEY}),)), f"{KEY}!")
    with serve(refused, turns) as server:
        provider = OpenAIChat("m", base_url=server.url, api_key=KEY, proxies={})
        with closing(provider):
            engine = Engine(provider, tools=[leak], approver=allow_all, system=f"Use {KEY}")
            taped = record(tmp_path / "tape", engine, f"What is {KEY}?")
    assert KEY not in taped.text
    assert KEY[:12] not in taped.text
    assert taped.text.count("[key]") > 10
    assert not replay(taped.tape).difference


@pytest.mark.parametrize("size", [1, 2, 5, 11, 30, 500])
def test_a_key_that_a_reply_spells_is_not_on_it(size: int, tmp_path: Path) -> None:
    words = f"The key is {KEY}, {KEY}."
    pieces = [words[n : n + size] for n in range(0, len(words), size)]
    with serve(reply(*pieces), cut_after(*map(text, pieces))) as server:
        provider = OpenAIChat("m", base_url=server.url, api_key=KEY, proxies={}, max_retries=0)
        with closing(provider):
            taped = record(tmp_path / "tape", Engine(provider), "go", "again")
    assert KEY[:12] not in taped.text
    told = MemoryReporter()
    assert not replay(taped.tape, reporter=told).difference
    assert told.text == "The key is [key], [key]." * 2


@pytest.mark.parametrize("size", [1, 2, 5, 11, 30])
def test_a_key_that_is_cut_in_pieces_is_masked(size: int) -> None:
    body = f"data: {KEY}\n\ndata: sk-very\n\ndata: {KEY}sk-"
    pieces = [body[n : n + size] for n in range(0, len(body), size)]
    masked = Secrets([KEY]).among(pieces)
    assert len(masked) == len(pieces)
    assert "".join(masked) == "data: [key]\n\ndata: sk-very\n\ndata: [key]sk-"


def test_a_key_is_found_however_json_spells_it() -> None:
    key = 'a"long/key'
    quoted = json.dumps(key)[1:-1]
    texts = [f"<{key}>", f"<{quoted}>", "<" + quoted.replace("/", "\\/") + ">"]
    assert Secrets([key]).among(texts) == ["<[key]>"] * 3


def test_a_whole_history_is_recorded_once(tmp_path: Path) -> None:
    taped = record(tmp_path / "tape", scripted("First.", "Second.", "Third."), "a", "b", "c")
    lines = [json.loads(line) for line in taped.text.splitlines()]
    runs = [line for line in lines if line["type"] == "run"]
    assert [run.get("after") for run in runs] == [None, 1, 2]
    assert '"history":[]' in taped.text
    assert taped.text.count('"history"') == 1
    assert played(taped).runs == 3


def test_runs_on_several_threads_share_a_tape(tmp_path: Path) -> None:
    def run(number: int) -> None:
        engine = scripted(f"answer {number}")
        recorder.run(engine, Session(), f"question {number}")

    with Recorder(tmp_path / "tape") as recorder:
        threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    tape = read_tape(tmp_path / "tape")
    assert len(tape.runs) == 8
    assert replay(tape).difference == ""


# --- where it goes ------------------------------------------------------------------------------


def test_a_tape_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    record(path, scripted("one " * 100), "go")
    record(path, scripted("two"), "go")
    assert "one" not in path.read_text()
    path.write_text("a letter")
    with pytest.raises(ConfigError, match="is no tape: give the name of a new file"):
        Recorder(path)
    assert path.read_text() == "a letter"


def test_a_place_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be written: No such file"):
        Recorder(tmp_path / "missing" / "tape")
    with pytest.raises(ConfigError, match="can't be written: Is a directory"):
        Recorder(tmp_path)


def test_two_recorders_do_not_share_a_file(tmp_path: Path) -> None:
    with Recorder(tmp_path / "tape"), pytest.raises(ConfigError, match="another claw is writing"):
        Recorder(tmp_path / "tape")


def test_a_full_disk_is_told_once_and_the_run_goes_on() -> None:
    taped = record(Path("/dev/full"), scripted("First.", "Second."), "a", "b")
    assert taped.told.text == "First.Second."
    assert taped.told.notices == [
        "/dev/full can't be written: No space left on device. The tape ends here, the run goes on"
    ]
    assert taped.told.result is not None
    assert taped.told.result.status is RunStatus.COMPLETED


def test_what_nobody_reads_does_not_hold_up_a_run(tmp_path: Path) -> None:
    """A FIFO takes 64 kB and then nothing more."""
    os.mkfifo(tmp_path / "fifo")
    taped = record(tmp_path / "fifo", scripted("word " * 50_000), "go")
    assert len(taped.told.text) == 250_000
    assert "can't be written" in taped.told.notices[0]


def test_a_provider_that_raises_is_recorded_as_a_failure(tmp_path: Path) -> None:
    class Broken:
        def generate(self, request: object, cancel: object) -> object:
            raise ValueError("a bug")

    taped = record(tmp_path / "tape", Engine(Broken()), "go")  # type: ignore[arg-type]
    (result,) = played(taped).results
    assert result.error is not None
    assert "Broken raised ValueError: a bug" in result.error.message


def test_the_outcome_is_that_of_a_run_without_a_tape(tmp_path: Path) -> None:
    told, alone = MemoryReporter(), MemoryReporter()
    with Recorder(tmp_path / "tape") as recorder:
        recorder.run(scripted("Hello"), Session(), "go", reporter=told)
    scripted("Hello").run(Session(), "go", reporter=alone)
    assert told.events[:-1] == alone.events[:-1]
