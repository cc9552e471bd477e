"""Every case of tests/cases/stream, without a network: bytes in, deltas and one outcome."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest

from claw.errors import ConnectionLost, ProviderError, StreamStalled
from claw.events import StreamEvent, ToolCallStart
from claw.messages import Message
from claw.providers.assembler import Assembler
from claw.providers.chat_assembler import ChatAssembler
from claw.providers.messages_assembler import MessagesAssembler
from claw.providers.reply import ReplyReader
from tests.support.cases import Case, check, cuttings, steps, stream_cases

ASSEMBLERS: dict[str, Callable[[], Assembler]] = {
    "openai": ChatAssembler,
    "anthropic": MessagesAssembler,
}
CLIENT = {"idle_timeout": 5, "progress_timeout": 600, "max_reply_bytes": 50_000_000}
# An answer that isn't a status of 200 is the transport's affair.
CASES = [c for c in stream_cases() if c.get("http", {}).get("status", 200) == 200]


def play(case: Case, cutting: int | None) -> tuple[list[StreamEvent], Message | ProviderError]:
    """What the reader makes of a case, its clocks kept here instead of in the transport."""
    client = CLIENT | case.get("client", {})
    reader = ReplyReader(ASSEMBLERS[case["dialect"]](), max_reply_bytes=client["max_reply_bytes"])
    deltas: list[StreamEvent] = []
    broken: ProviderError | None = None
    pause, belonging = 0.0, 0  # seconds since something belonged to the reply
    inflate = zlib.decompressobj(wbits=31) if case["kind"] == "gzip" else None
    for kind, value in steps(case, cutting):
        if kind == "sleep":
            pause = pause + value if reader.belonging == belonging else value
            belonging = reader.belonging
            limit = 2 if reader.settling else client["progress_timeout"]
            if value > client["idle_timeout"] or pause > limit:
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
