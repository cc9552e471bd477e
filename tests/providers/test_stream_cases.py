"""Every openai case of tests/cases/stream, without a network: bytes in, deltas and one outcome."""

from __future__ import annotations

import zlib

import pytest

from claw.errors import ConnectionLost, ProviderError, StreamStalled
from claw.events import StreamEvent, ToolCallStart
from claw.messages import Message
from claw.providers.assembler import ChatAssembler
from claw.providers.reply import ReplyReader
from tests.support.cases import Case, check, cuttings, steps, stream_cases

# An answer that isn't a status of 200 is the transport's affair.
CASES = [c for c in stream_cases("openai") if c.get("http", {}).get("status", 200) == 200]


def play(case: Case, cutting: int | None) -> tuple[list[StreamEvent], Message | ProviderError]:
    """What the reader makes of a case, if its clocks were the transport's."""
    reader = ReplyReader(
        ChatAssembler(),
        max_reply_bytes=case.get("client", {}).get("max_reply_bytes", 50_000_000),
    )
    deltas: list[StreamEvent] = []
    broken: ProviderError | None = None
    patience = case.get("client", {}).get("idle_timeout", 5)
    inflate = zlib.decompressobj(wbits=31) if case["kind"] == "gzip" else None
    for kind, value in steps(case, cutting):
        if kind == "sleep" and value > (2 if reader.settling else patience):
            broken = StreamStalled("silence")
        elif kind == "cut":
            broken = ConnectionLost("cut")
        if reader.ended or broken:
            break
        if kind == "write":
            deltas += reader.feed(inflate.decompress(value) if inflate else value)
    try:
        return deltas, reader.finish(broken)
    except ProviderError as error:
        return deltas, error


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_has_its_outcome_however_it_is_cut(case: Case) -> None:
    shown = []
    for cutting in cuttings(case):
        deltas, outcome = play(case, cutting)
        check(case["expect"], deltas, outcome)
        shown.append([without_id(delta) for delta in deltas])
    assert all(deltas == shown[0] for deltas in shown)


def without_id(delta: StreamEvent) -> StreamEvent:
    """Ids that claw makes up differ from reply to reply."""
    return ToolCallStart(delta.index, "", delta.name) if isinstance(delta, ToolCallStart) else delta
