"""The conformance cases of tests/cases: loading, cutting, and comparing with what is expected."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from claw.errors import (
    ConnectError,
    ConnectionLost,
    HTTPStatusError,
    ProtocolError,
    ProviderError,
    ReadTimeout,
    ServerReported,
    StreamStalled,
    StreamTruncated,
)
from claw.events import TextDelta
from claw.messages import Message, ReasoningBlock, StopReason, ToolCall

ROOT = Path(__file__).parent.parent / "cases"
Case = dict[str, Any]

# The cases' own names for errors, and claw's.
KINDS: dict[str, tuple[type[ProviderError], ...]] = {
    "truncated": (StreamTruncated,),
    "protocol": (ProtocolError,),
    "provider": (ServerReported,),
    "http": (HTTPStatusError,),
    "transport": (ConnectionLost, ConnectError),
    "stalled": (StreamStalled, ReadTimeout),
}
# Cuttings other than the written one only cost time there (README, "Cuttings").
ONE_CUTTING = {"size", "endless", "stall", "slow-drip", "end-open"}
RETRY_AFTER_SLACK_S = 3


@cache
def play_case() -> ModuleType:
    """The player that comes with the cases; `play_case().serve(cases)` answers over loopback."""
    spec = importlib.util.spec_from_file_location("play_case", ROOT / "play_case.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def load(folder: str) -> dict[str, Case]:
    """The cases of `sse` or `stream` by name, what is expected spelled out in full."""
    player = play_case()
    return {
        name: {**case, "expect": player.expand(case["expect"])}
        for name, case in player.load(ROOT / folder).items()
    }


def stream_cases(dialect: str = "") -> list[Case]:
    """The stream cases; `dialect`, "openai" or "anthropic", leaves out those of the other."""
    return [case for case in load("stream").values() if dialect in ("", case["dialect"])]


def cuttings(case: Case) -> tuple[int | None, ...]:
    """The cuttings in which a case is worth playing, as `steps` takes them."""
    if case.get("kind") in ONE_CUTTING or case["name"] == "args-deep":
        return (None,)
    return (None, 0, 1, 7)


def steps(case: Case, cutting: int | None = None) -> list[tuple[str, Any]]:
    """("write" or "raw", bytes), ("sleep", seconds), ("cut", how). `cutting` is None for the
    writes as they stand in the case, 0 for as few as can be, else the size of each in bytes.
    """
    found: list[tuple[str, Any]] = play_case().writes_of(case["body"], cutting)
    return found


def writes(case: Case, cutting: int | None = None) -> list[bytes]:
    """What a case writes, its pauses and cuts left out."""
    return [data for kind, data in steps(case, cutting) if kind == "write"]


def check(expect: Case, deltas: Iterable[object], outcome: Message | ProviderError) -> None:
    """Fails unless `outcome`, after `deltas`, is what the case expects. Times aren't looked at."""
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    text.encode("utf-8")
    if "error" in expect:
        assert isinstance(outcome, ProviderError), f"no error but {outcome!r}"
        _check_error(expect["error"], outcome)
    else:
        assert isinstance(outcome, Message), f"no message but {outcome!r}"
        _check_message(expect["message"], outcome)
        assert text == expect["text_deltas_joined"]
        for kept in expect.get("keeps", ()):
            assert kept in str(outcome.to_dict())


def _check_error(expect: Case, error: ProviderError) -> None:
    assert isinstance(error, KINDS[expect["kind"]]), repr(error)
    assert len(error.message) < 1000
    assert "\n" not in error.message
    for key in ("status", "retryable", "context_overflow"):
        if key in expect:
            assert getattr(error, key) == expect[key], key
    if "retry_after" in expect:
        assert error.retry_after is not None
        assert abs(error.retry_after - expect["retry_after"]) <= RETRY_AFTER_SLACK_S
    assert expect.get("contains", "").lower() in error.message.lower()


def _check_message(expect: Case, message: Message) -> None:
    assert message.role == "assistant"
    assert message.text == expect["text"]
    if "reasoning" in expect:
        blocks = [block for block in message.blocks if isinstance(block, ReasoningBlock)]
        assert "".join(block.text for block in blocks) == expect["reasoning"]
    assert stop_name(message) == expect["stop_reason"]
    _check_usage(expect["usage"], message)
    ids = [call.id for call in message.tool_calls]
    assert len(set(ids)) == len(ids), f"ids are not unique: {ids}"
    assert len(ids) == len(expect["tool_calls"])
    for wanted, call in zip(expect["tool_calls"], message.tool_calls, strict=True):
        _check_call(wanted, call)
    assert Message.from_dict(message.to_dict()) == message


def stop_name(message: Message) -> str:
    """claw's own name of the stop reason, or the server's word where claw has none."""
    folded = message.stop_reason in (None, StopReason.OTHER, StopReason.PAUSE)
    return message.stop_word if folded else str(message.stop_reason and message.stop_reason.value)


def _check_usage(expect: Case | None, message: Message) -> None:
    if expect is None:
        assert message.usage is None
        return
    assert message.usage is not None
    assert {key: getattr(message.usage, key) for key in expect} == expect


def _check_call(expect: Case, call: ToolCall) -> None:
    assert call.name == expect["name"]
    assert call.id
    if expect["id"] != "*":
        assert call.id == expect["id"]
    if "arguments" in expect:
        assert (call.arguments, call.error) == (expect["arguments"], None)
    else:
        assert call.raw == expect["invalid_arguments"]
        assert call.error
        assert call.arguments == {}
