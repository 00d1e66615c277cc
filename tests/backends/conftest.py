"""A machine, a place for processes, and jobs as flows would hand them over."""

from __future__ import annotations

import hashlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from skilltrial import registry
from skilltrial.records.problems import Where
from skilltrial.records.suite import FileRef, Limits, Skill, Tree
from skilltrial.seams import Access, Job, Machine, Place, Stop
from skilltrial.system.redaction import Redactor


class Open:
    """The Limiter seam without limits."""

    def slot(self, key: str) -> AbstractContextManager[None]:
        return nullcontext()

    def refused(self, key: str, retry_after_s: float | None) -> None: ...

    def succeeded(self, key: str) -> None: ...

    def allow(self, key: str, slots: int) -> None: ...


class Patient:
    """The Watch seam: ends a run when told to, never by itself."""

    deadline = float("inf")

    def __init__(self, stop: Stop | None = None) -> None:
        self.stop = stop

    def heard(self, event: object) -> Stop | None:
        return self.stop


class MemoryBlobs:
    """The Blobs seam in memory."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def put_new(self, digest: str, data: bytes) -> bool:
        new = digest not in self.data
        self.data[digest] = data
        return new

    def get(self, digest: str) -> bytes:
        return self.data[digest]

    def keys(self, prefix: str = "") -> Iterator[str]:
        return iter([digest for digest in self.data if digest.startswith(prefix)])


def tree(files: Mapping[str, bytes], blobs: MemoryBlobs) -> Tree:
    refs = []
    for path, data in files.items():
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        blobs.put_new(digest, data)
        refs.append(FileRef(path=path, size=len(data), digest=digest))
    return Tree(digest="sha256:1", files=tuple(refs))


class Bench:
    """Builds what a backend needs for a run."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.places = 0
        self.root = base
        """Of the last place."""
        self.redactor = Redactor()
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(base / "my-home"), "MARK": "from the caller"}
        self.machine = Machine(environ=self.environ, redactor=self.redactor, limiter=Open(), temp=base)
        self.blobs = MemoryBlobs()
        self.patient = Patient()
        self.skill = Skill(
            id="sample-skill",
            name="sample-skill",
            description="Samples.",
            body="Say the required phrase.",
            tree=tree({"SKILL.md": b"---\nname: sample-skill\n---\nSay the required phrase."}, self.blobs),
            frontmatter={},
            where=Where(file="SKILL.md"),
        )

    def executable(self, name: str, python: str) -> Path:
        """A Python program of a few lines, executable."""
        file = self.base / name
        file.write_text(f"#!{sys.executable}\n{textwrap.dedent(python)}", encoding="utf-8")
        file.chmod(0o755)
        return file

    def script(self, name: str, bash: str) -> Path:
        file = self.base / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(bash), encoding="utf-8")
        return file

    @contextmanager
    def place(self) -> Iterator[Place]:
        self.places += 1
        folder = self.base / f"place-{self.places}"
        folder.mkdir()
        access = Access(env=self.environ, keep_home=True)
        with registry.get("sandboxes", "none")().enter(folder, access) as place:
            self.root = place.root
            yield place

    def job(
        self, place: Place | None = None, *, with_skill: bool = False, files: Mapping[str, bytes] | None = None, **fields: Any
    ) -> Job:
        arm = "with_skill" if with_skill else "without_skill"
        start: dict[str, Any] = {
            "cell": f"sample-skill/1/t/{arm}/1",
            "prompt": "Perform the task.",
            "blobs": self.blobs,
            "seed": 7,
            "limits": Limits(timeout_s=20.0),
            "skills": (self.skill,) if with_skill else (),
            "fixtures": tree(files or {}, self.blobs),
            "stage": "inputs",
            "place": place,
        }
        return Job(**{**start, **fields})

    def run(self, backend: Any, watch: Any = None, **fields: Any) -> Any:
        """One run of the backend in a fresh place."""
        with self.place() as place, backend.open(self.machine) as runner:
            return runner.run(self.job(place, **fields), watch or self.patient)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def stopped() -> Callable[[str], Patient]:
    return lambda outcome: Patient(Stop(outcome, f"{outcome} struck"))
