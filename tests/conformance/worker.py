"""Plays for one client, in the interpreter that has it: orders in, outcomes out, as JSON lines.

    python -m tests.conformance.worker ADAPTER

The first line it writes is the client's name and version, or why it can't be had.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from importlib.metadata import version
from typing import Any


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a client prints goes to standard error

    def tell(answer: dict[str, Any]) -> None:
        out.write(json.dumps(answer) + "\n")
        out.flush()

    try:
        adapter: Any = import_module(f"tests.conformance.adapters.{sys.argv[1]}")
    except ImportError as error:
        tell({"missing": str(error)})
        return
    name = adapter.DISTRIBUTION
    tell({"name": name, "version": version(name), "dialects": adapter.DIALECTS})
    for line in sys.stdin:
        tell(obey(adapter, json.loads(line)))


def obey(adapter: Any, order: dict[str, Any]) -> dict[str, Any]:
    start, first, texts = time.monotonic(), None, []

    def on_text(text: str) -> None:
        nonlocal first
        if first is None:
            first = time.monotonic() - start
        texts.append(text)

    try:
        if "writes" in order:
            return dict(adapter.decode([bytes.fromhex(data) for data in order["writes"]]))
        outcome = adapter.ask(order["base_url"], order["dialect"], order["client"], on_text)
    except Exception as error:
        return {"error": {"kind": "crash", "message": f"{type(error).__name__}: {error}"[:500]}} | {
            "seconds": time.monotonic() - start,
            "first_delta": first,
        }
    seen = {"text_deltas": "".join(texts), "first_delta": first}
    return {**outcome, **seen, "seconds": time.monotonic() - start}


if __name__ == "__main__":
    main()
