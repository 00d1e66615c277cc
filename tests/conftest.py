"""What tests of several folders share: the model server of `benchmarks/`, a machine to run on, blobs in memory."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from skilltrial.chat.limiter import AimdLimiter
from skilltrial.records.evidence import Event
from skilltrial.records.problems import Where
from skilltrial.records.suite import FileRef, Limits, Skill, Tree
from skilltrial.seams import Job, Machine, Stop
from skilltrial.system.redaction import Redactor


def _benchmark(name: str) -> Any:
    """A module of `benchmarks/`, which is not installed."""
    known = sys.modules.get(f"benchmarks_{name}")
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", Path(__file__).parents[1] / "benchmarks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class MemoryBlobs:
    """The Blobs seam in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put_new(self, digest: str, data: bytes) -> bool:
        return self.kept.setdefault(digest, data) is data

    def get(self, digest: str) -> bytes:
        return self.kept[digest]

    def keys(self, prefix: str = "") -> Iterator[str]:
        return iter([key for key in self.kept if key.startswith(prefix)])

    def tree(self, files: Mapping[str, bytes | str]) -> Tree:
        """A tree over these files, their bytes kept here."""
        refs = []
        for path, content in sorted(files.items()):
            data = content.encode() if isinstance(content, str) else content
            digest = "sha256:" + hashlib.sha256(data).hexdigest()
            self.kept[digest] = data
            refs.append(FileRef(path=path, size=len(data), digest=digest))
        whole = hashlib.sha256(repr([(ref.path, ref.digest) for ref in refs]).encode()).hexdigest()
        return Tree(digest=f"sha256:{whole}", files=tuple(refs))

    def skill(self, name: str, description: str, body: str, files: Mapping[str, bytes | str] | None = None) -> Skill:
        """A skill whose files are kept here."""
        text = f"---\nname: {name}\ndescription: {description}\n---\n{body}"
        tree = self.tree({"SKILL.md": text, **(files or {})})
        where = Where(file=f"{name}/SKILL.md", line=None, column=None, pointer=None)
        return Skill(id=name, name=name, description=description, body=body, tree=tree, frontmatter={}, where=where)


class PlainWatch:
    """The Watch seam: a deadline, a stop to be given when `stop` is set, and what was heard."""

    def __init__(self, seconds: float = 30.0) -> None:
        self.deadline = time.monotonic() + seconds
        self.stop: Stop | None = None
        self.events: list[Event] = []

    def heard(self, event: Event | None) -> Stop | None:
        if event is not None:
            self.events.append(event)
        return self.stop


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture
def watch() -> PlainWatch:
    return PlainWatch()


@pytest.fixture
def new_watch() -> Callable[..., PlainWatch]:
    return PlainWatch


@pytest.fixture
def machine_with(tmp_path: Path) -> Callable[..., Machine]:
    """`machine_with(KEY="value", …)`: a machine whose environment holds just this."""

    def make(**environ: str) -> Machine:
        return Machine(environ=environ, redactor=Redactor(), limiter=AimdLimiter(), temp=tmp_path)

    return make


@pytest.fixture
def new_job(blobs: MemoryBlobs) -> Callable[..., Job]:
    """`new_job(prompt, **fields)`."""

    def make(prompt: str = "What is 2 + 2?", **fields: Any) -> Job:
        return Job(**{"cell": "s/c/t/a/1", "prompt": prompt, "blobs": blobs, "seed": 7, "limits": Limits(), **fields})

    return make


@pytest.fixture
def model_server_module() -> Any:
    """`benchmarks/model_server.py`: Faults, echo, by_substring, system_of, user_of."""
    return _benchmark("model_server")


@pytest.fixture
def serve(model_server_module: Any) -> Iterator[Callable[..., Any]]:
    """`server = serve(reply, latency_s=…, faults={…})`: a model server on loopback that ends with the test."""
    with ExitStack() as stack:

        def start(reply: Any = None, *, faults: Mapping[str, Any] | None = None, **settings: Any) -> Any:
            answer = (lambda request: reply) if isinstance(reply, (str, dict)) else reply or model_server_module.echo
            settings["faults"] = model_server_module.Faults(**(faults or {}))
            server: AbstractContextManager[Any] = model_server_module.serving(answer, **settings)
            return stack.enter_context(server)

        yield start
