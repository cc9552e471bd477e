"""Tapes of every conformance case that ends by itself: each comes out as it did when recorded."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from claw.engine import Engine
from claw.providers.anthropic import AnthropicMessages
from claw.providers.openai_chat import OpenAIChat
from tests.support.cases import Case, cuttings, play_case, stream_cases
from tests.support.taping import played, record

PROVIDERS = {"openai": OpenAIChat, "anthropic": AnthropicMessages}
QUICK = [case for case in stream_cases() if len(cuttings(case)) > 1]  # not silent on purpose


@pytest.fixture(scope="module")
def player() -> Iterator[Any]:
    with play_case().serve({case["name"]: case for case in QUICK}) as player:
        yield player
        player.closed.set()
        socket.create_connection(("127.0.0.1", player.port)).close()  # wakes its accept
        player.thread.join(5)


def test_there_are_more_than_fifty_in_both_dialects() -> None:
    assert len(QUICK) > 100
    assert sum(case["dialect"] == "anthropic" for case in QUICK) > 20


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case["name"])
def test_a_tape_of_a_case_comes_out_as_it_did(case: Case, player: Any, tmp_path: Path) -> None:
    options = {"idle_timeout": 5, "progress_timeout": 600} | case.get("client", {})
    provider = PROVIDERS[case["dialect"]](
        "m", base_url=player.url(case["name"]), max_retries=0, proxies={}, **options
    )
    with closing(provider):
        taped = record(tmp_path / "tape", Engine(provider, max_steps=2), "Hi")
    assert taped.tape.damage == 0
    assert played(taped).runs == 1
