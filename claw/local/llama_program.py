"""llama.cpp's own server as a program: prints its address, and ends when standard input does.

The first line of standard input is the key that requests must bring.

A program of its own, so that a crash in native code isn't claw's. Whoever started it holds the
other end of standard input and lets go of it however he ends, so this can't outlive him.

A thread waits for that from the first moment on. Yet it can't run while a model is loaded, which
may take a minute: llama.cpp keeps the interpreter's lock for so long. So Linux is asked for a
SIGIO as well (fcntl(2), O_ASYNC), which ends a process that has no handler for it.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NOT_INSTALLED = 66  # the exit code where there is no xllamacpp


def main() -> None:
    key = sys.stdin.readline().strip()  # not an option: those are in the list of processes
    end_with_input()
    options = parsed()
    if find_spec("xllamacpp") is None:
        sys.exit(NOT_INSTALLED)
    try:
        server = serve(options, key)
    except RuntimeError:  # llama.cpp's log has said why
        sys.exit(1)
    print(server.listening_address, flush=True)  # noqa: T201
    threading.Event().wait()


def end_with_input() -> None:
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=wait_for_end, name="end-with-input", daemon=True).start()


def wait_for_end() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)  # without waiting for a reply that nobody reads


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--alias", required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--chat-template", type=Path)
    return parser.parse_args()


def serve(options: argparse.Namespace, key: str) -> Any:
    """Loads the model and serves it on a free port of loopback; returns once it is ready."""
    import xllamacpp  # type: ignore[import-not-found,unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.api_keys = [key]  # or any user of the machine, and any web page, could ask the model
    params.offline, params.ui = True, False
    params.n_ctx, params.n_parallel = options.context, 1
    params.use_jinja = True
    if options.chat_template is not None:
        params.chat_template = options.chat_template.read_text("utf-8")
    return xllamacpp.Server(params)  # raises RuntimeError


if __name__ == "__main__":
    main()
