"""Serves one GGUF file on a free loopback port until standard input ends. Started by `local`, never imported by it.

Apart, since the model's code is native: its messages stay off the terminal, and a killed parent leaves nothing behind,
because the pipe to standard input closes with it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def _parameters(model: str, slots: int, context: int, threads: int) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_parallel = slots
    parameters.n_ctx = context * slots
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.cache_ram_mib = 0
    parameters.verbosity = -1
    parameters.ui = False
    return xllamacpp.Server(parameters)


def main() -> None:
    """Writes one line of JSON, the address or the error, and waits for its standard input to end."""
    settings = json.loads(sys.stdin.readline())
    ours = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what native code prints goes to standard error, which the parent keeps
    try:
        server = _parameters(**settings)
    except Exception as error:  # whatever the native side raises is the answer to "does it start"
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=ours, flush=True)
        os._exit(1)
    print(json.dumps({"address": server.listening_address}), file=ours, flush=True)
    sys.stdin.read()
    os._exit(0)  # the native threads have nothing to save, and joining them can take seconds


if __name__ == "__main__":
    main()
