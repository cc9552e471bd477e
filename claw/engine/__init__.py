"""The engine: one loop, fed by threads it owns."""

from claw.engine.engine import Engine
from claw.engine.fitting import compact_now
from claw.engine.stream import RunStream

__all__ = ["Engine", "RunStream", "compact_now"]
