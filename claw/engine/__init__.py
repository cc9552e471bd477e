"""The engine: one loop, fed by threads it owns."""
