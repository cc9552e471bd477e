"""Fixtures for the tests against real servers: a llama.cpp, and an empty home for the command."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from claw.providers import AnthropicMessages, OpenAIChat
from claw.providers.http_provider import HTTPProvider
from tests.real import llama_server
from tests.support.command import Shell

GRACE_S = 5.0
STARTUP_S = 300.0  # measured: 1 to 5


@pytest.fixture(autouse=True)
def nothing_outlives_a_test() -> Iterator[None]:
    """The servers here outlive a test, as threads and as children; claw's own threads may not."""
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("claw-"):
            thread.join(GRACE_S)
            assert not thread.is_alive(), f"{thread.name} outlives the test"


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a llama.cpp server, which lives as long as the session."""
    log = tmp_path_factory.mktemp("llama") / "log"
    with (
        log.open("wb") as stream,
        subprocess.Popen(
            [sys.executable, llama_server.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stream,
        ) as server,
    ):
        killer = threading.Timer(STARTUP_S, server.kill)
        killer.start()
        try:
            assert server.stdout is not None
            address = server.stdout.readline().decode().strip()
            killer.cancel()
            assert address, f"llama.cpp didn't start:\n{log.read_text()[-2000:]}"
            yield f"{address}/v1"
        finally:
            killer.cancel()
            server.kill()


@pytest.fixture(params=[OpenAIChat, AnthropicMessages])
def dialect(request: pytest.FixtureRequest) -> type[HTTPProvider]:
    """llama.cpp speaks both."""
    speaks: type[HTTPProvider] = request.param
    return speaks


@pytest.fixture
def model(llama: str, dialect: type[HTTPProvider]) -> Iterator[HTTPProvider]:
    with closing(dialect(llama_server.MODEL, base_url=llama)) as provider:
        yield provider


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    home, folder = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    folder.mkdir()
    return Shell(home, folder)
