"""In place of llama.cpp's server: the same options and the same ends, and a model that is a line.

The name of the model file says how it behaves:
    quick       prints its address at once
    slow        never gets ready
    failing     ends with words on standard error
    missing     ends as if llama.cpp weren't installed
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NOT_INSTALLED = 66


class Model(BaseHTTPRequestHandler):
    """Answers every question with one line, which tells the options."""

    key = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {self.key}":
            self.send_error(401)
            return
        chunk = {"choices": [{"index": 0, "delta": {"content": f"I am {sys.argv[1:]}."}}]}
        stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        body = (
            "".join(f"data: {json.dumps(each)}\n\n" for each in (chunk, stop)) + "data: [DONE]\n\n"
        )
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
        if "crashing" in sys.argv[1]:
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(9)


def end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def main() -> None:
    behaviour = Path(sys.argv[1]).stem
    if behaviour == "missing":
        sys.exit(NOT_INSTALLED)
    if behaviour == "failing":
        sys.exit("\n".join(["first line", *(f"line {n}" for n in range(9)), "no \x1b[31mmemory"]))
    Model.key = sys.stdin.readline().strip()
    threading.Thread(target=end_with_input, daemon=True).start()
    for n in range(5000):  # more than a pipe holds
        print(f"{n}: loading", file=sys.stderr)
    if behaviour != "slow":
        server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
