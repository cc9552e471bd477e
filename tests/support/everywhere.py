"""Strikes at every single bytecode: what the garbage collector or a signal may do, made certain."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

# After these the interpreter looks for signals; nowhere else can a KeyboardInterrupt rise.
LOOKS_FOR_SIGNALS = ("RESUME", "CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD")


def strike_at(
    number: int,
    modules: list[ModuleType],
    strike: Callable[[], object],
    body: Callable[[], object],
    *,
    after: tuple[str, ...] = (),
) -> bool:
    """Runs `body` here and calls `strike` before the `number`-th bytecode that it runs in
    `modules`, on this very thread, in between. False when the body had fewer bytecodes.
    after: count only the bytecodes that follow one of these."""
    files = {module.__file__ for module in modules}
    seen = 0
    before_this: dict[FrameType, str] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            previous = before_this.get(frame, "")
            before_this[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if after and previous not in after:
                return trace
            seen += 1
            if seen == number:
                sys.settrace(None)
                strike()
        return trace if seen < number else None

    tracer = sys.gettrace()
    sys.settrace(trace)
    try:
        body()
    finally:
        sys.settrace(tracer)
    return seen >= number
