"""Makes an experiment, and opens one again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from skilltrial.errors import UsageError
from skilltrial.records.plan import Plan
from skilltrial.store.blobs import FolderBlobs, copy_in
from skilltrial.store.experiment import Experiment
from skilltrial.store.folders import PLAN, allocate, seen_in
from skilltrial.store.index import Index
from skilltrial.store.lock import WriterLock
from skilltrial.store.masking import masked_plan
from skilltrial.store.scan import is_bare, scan
from skilltrial.store.taken_up import in_force
from skilltrial.system.files import write_atomic
from skilltrial.wording import words

if TYPE_CHECKING:
    from skilltrial.system.redaction import Redactor

MAJOR = 1
"""Of `skilltrial.plan/…`: keys are only added within it."""


def create(
    workspace: Path,
    make_plan: Callable[[str], Plan],
    sources: Mapping[str, Path | bytes],
    redactor: Redactor | None,
    *,
    run_id: str | None = None,
) -> Experiment:
    """A new experiment, open for writing: folder, copies of all inputs, then the plan as the mark that it exists.

    `make_plan` is told the folder's name. When anything fails, the folder is gone again.

    Raises:
        UsageError: the workspace cannot be written, `run_id` is taken, or an input changed since it was loaded.
    """
    folder = allocate(workspace, run_id)
    lock = None
    try:
        lock = WriterLock(folder)
        plan = make_plan(folder.name)
        copy_in(sources, FolderBlobs(folder / "blobs"))
        write_atomic(folder / PLAN, masked_plan(plan, redactor), None, durable=True)
        return Experiment(folder, plan, Index(plan), redactor, lock)
    except BaseException as error:
        if lock:
            lock.release()
        shutil.rmtree(folder, ignore_errors=True)  # ours, made a moment ago, nothing run
        if isinstance(error, OSError):
            raise UsageError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from error
        raise


def open_(folder: Path, *, write: bool = False, redactor: Redactor | None = None) -> Experiment:
    """An existing experiment. A line that a killed process left half written is dropped; a writer sets it aside first.

    Raises:
        UsageError: no experiment of ours, made by a newer major version, or (for writing) in use by another process.
    """
    plan = plan_of(folder)
    if write and is_bare(folder):
        raise UsageError(
            f"{folder} is an archive without what its runs said and left: it can be read, and nothing be run or graded in it",
            "archive with --include-output to grade later",
        )
    lock = WriterLock(folder) if write else None
    try:
        index = Index(plan)
        found = scan(folder, index)
        if lock and found.torn:
            _set_aside(folder, found.end, found.torn)
        experiment = Experiment(folder, plan, index, redactor, lock)
        experiment.plan = in_force(experiment)
    except BaseException as error:
        if lock:
            lock.release()
        if isinstance(error, OSError):
            raise UsageError(f"{error.filename or folder}: {error.strerror or error}") from error
        raise
    if found.strange:
        experiment.warnings = (
            f"{folder / 'results.jsonl'}: {words.many(found.strange, 'line')} damaged or not of this plan and left out",
        )
    return experiment


def plan_of(folder: Path) -> Plan:
    """The plan as it is stored, its secrets masked.

    Raises:
        UsageError: there is none, it cannot be read, or another version wrote it.
    """
    path = folder / PLAN
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(
            f"{folder} is no experiment of skilltrial: {seen_in(folder)}", f"an experiment's folder holds {PLAN}"
        ) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    try:
        plan = Plan.from_stored(data)
    except ValidationError as error:
        raise UsageError(f"{path}: {_why(data, error)}") from None
    if problem := _version_problem(plan.schema_):
        raise UsageError(f"{path}: {problem}")
    return plan


def _why(data: bytes, error: ValidationError) -> str:
    try:
        stored: Any = json.loads(data)
    except ValueError as broken:
        return f"is no JSON: {broken}"
    schema = stored.get("schema") if isinstance(stored, dict) else None
    if problem := _version_problem(str(schema)):
        return problem
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _version_problem(schema: str) -> str | None:
    name, _, major = schema.partition("/")
    if name != "skilltrial.plan":
        return f"holds schema '{schema}', not a plan of skilltrial"
    if major.split(".")[0] != str(MAJOR):
        return f"was written by another version of skilltrial (schema {schema}, this one reads skilltrial.plan/{MAJOR})"
    return None


def _set_aside(folder: Path, end: int, torn: bytes) -> None:
    """Keeps the half line beside the journal, then cuts it off, so that the next line starts on its own."""
    write_atomic(folder / f"results.torn-{end}", torn, None)
    os.truncate(folder / "results.jsonl", end)
