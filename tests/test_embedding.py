"""claw inside other people's programs: any thread, any process, nothing but the engine's work."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

from claw import CancelToken, Engine, Reporter, RunResult, RunStatus, Session, allow_all, tool
from claw.providers import OpenAIChat
from claw.session import unanswered_calls
from tests.support.server import Server, Turn, model, one_delta_then_silence, reply, serve

ADDS = Turn("", calls=(("c1", "add", {"a": 2, "b": 3}),))


def run_script(code: str, server: Server, tmp_path: Path) -> str:
    """Runs a script as a user would; what it prints. It must print nothing on standard error."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    env = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_run_installs_no_handler_prints_nothing_and_starts_no_event_loop(
    tmp_path: Path,
) -> None:
    code = """
        import os, signal, sys, threading
        from claw import Engine, Session, allow_all, tool
        from claw.providers import OpenAIChat

        @tool
        def add(a: int, b: int) -> int:
            "Adds."
            return a + b

        handlers = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        model = OpenAIChat("m", base_url=os.environ["OPENAI_BASE_URL"])
        result = Engine(model, tools=[add], approver=allow_all).run(Session(), "2 + 3?")
        model.close()
        assert result.text == "It is 5.", result
        assert handlers == [
            signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        ]
        assert "asyncio" not in sys.modules
    """
    with serve(model(ADDS, "It is 5.")) as server:
        assert run_script(code, server, tmp_path) == ""


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def run_once(url: str) -> RunResult:
    provider = OpenAIChat("m", base_url=url)
    try:
        return Engine(provider, tools=[add], approver=allow_all).run(Session(), "2 + 3?")
    finally:
        provider.close()


def test_on_another_thread() -> None:
    results: list[RunResult] = []
    with serve(model(ADDS, "It is 5.")) as server:
        thread = threading.Thread(target=lambda: results.append(run_once(server.url)))
        thread.start()
        thread.join(60)
    assert [result.text for result in results] == ["It is 5."]


class TellsFirstText(Reporter):
    def __init__(self) -> None:
        self.told = threading.Event()

    def on_text_delta(self, text: str) -> None:
        self.told.set()


def test_twenty_runs_at_once_with_a_cancel_each() -> None:
    """One engine, 20 threads; every other run is cancelled, and no cancel hurts a neighbour."""
    results: dict[int, RunResult] = {}

    def answer_after_half(peer: object, request: object) -> None:
        one_delta_then_silence(peer, request)  # type: ignore[arg-type]

    with serve(answer_after_half) as silent, serve(reply("Hel", "lo")) as talking:
        stuck = OpenAIChat("m", base_url=silent.url)
        fine = OpenAIChat("m", base_url=talking.url)

        def one(number: int) -> None:
            token, reporter, session = CancelToken(), TellsFirstText(), Session()
            if number % 2:
                canceller = threading.Thread(
                    target=lambda: (reporter.told.wait(60), token.cancel(f"number {number}"))
                )
                canceller.start()
            engine = Engine(stuck if number % 2 else fine, reporter=reporter)
            results[number] = engine.run(session, "hello", cancel=token)
            assert unanswered_calls(session.messages) == []
            if number % 2:
                canceller.join()

        threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        stuck.close()
        fine.close()
    for number, result in results.items():
        if number % 2:
            assert (result.status, result.cancel_reason) == (
                RunStatus.CANCELLED,
                f"number {number}",
            )
        else:
            assert (result.status, result.text) == (RunStatus.COMPLETED, "Hello")
    assert len(results) == 20


PROCESSES = """
    import multiprocessing, os, sys
    from claw import Engine, Session
    from claw.providers import OpenAIChat

    model = OpenAIChat("m", base_url=os.environ["OPENAI_BASE_URL"])

    def work(number):
        return Engine(model).run(Session(), f"run {{number}}")

    if __name__ == "__main__":
        assert work(0).text == "Hello"  # its connection is open when the children begin
        with multiprocessing.get_context("{method}").Pool(2) as pool:
            results = pool.map(work, range(4))
        assert [result.text for result in results] == ["Hello"] * 4, results
        assert work(5).text == "Hello"
        model.close()
"""


def test_in_spawned_processes(tmp_path: Path) -> None:
    with serve(reply("Hel", "lo")) as server:
        run_script(PROCESSES.format(method="spawn"), server, tmp_path)


FORKED = """
    import os, sys
    from claw import Engine, Session
    from claw.providers import OpenAIChat

    model = OpenAIChat("m", base_url=os.environ["OPENAI_BASE_URL"])
    work = lambda: Engine(model).run(Session(), "hello").text
    assert work() == "Hello"  # its connection is open when the child begins
    child = os.fork()
    assert work() == "Hello"
    if child == 0:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert work() == "Hello"
    model.close()
"""


def test_in_a_forked_process(tmp_path: Path) -> None:
    with serve(reply("Hel", "lo")) as server:
        run_script(FORKED, server, tmp_path)
