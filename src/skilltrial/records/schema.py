"""JSON Schemas of our files and of the files users write, made from the records.

The string under a field is its description here too. It is read from the source at this moment: keeping it at import
would cost every start of the program.
"""

from __future__ import annotations

import ast
import json
from difflib import get_close_matches
from functools import cache
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from skilltrial.errors import UsageError
from skilltrial.records.archive import ArchiveManifest
from skilltrial.records.certificate import Certificate
from skilltrial.records.comparison import Compared
from skilltrial.records.config_file import ConfigFile
from skilltrial.records.evidence import Event, Evidence
from skilltrial.records.files import BenchmarkFile, GradingFile, HookOfRun, PairFile, RunMetaFile, StateFile, TimingFile
from skilltrial.records.grades import JudgeCall
from skilltrial.records.history import History, Portfolio
from skilltrial.records.hooks import HookRun
from skilltrial.records.journal import JournalLine
from skilltrial.records.leftovers import Leftovers
from skilltrial.records.news import News
from skilltrial.records.packets import PacketsLine
from skilltrial.records.plan import Plan
from skilltrial.records.suite_schema import Schema, suite_schema
from skilltrial.records.summary import Summary

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_OURS: dict[str, tuple[Any, str, str]] = {
    "plan": (Plan, "skilltrial plan", "`experiment.json`: everything an experiment set out to do. Written first, never changed."),
    "evidence": (Evidence, "skilltrial evidence", "One line of `evidence/<writer>.jsonl`: what one run left behind."),
    "journal": (JournalLine, "skilltrial journal line", "One line of `results.jsonl`: a finished step."),
    "summary": (Summary, "skilltrial summary", "`summary.json`, and what `--format json` prints."),
    "archive-manifest": (ArchiveManifest, "skilltrial archive", "`archive-manifest.json` of `export --format archive`."),
    "packets": (PacketsLine, "skilltrial packets line", "One line of `packets.jsonl`: a packet written, answered or spent."),
    "hooks": (HookRun, "skilltrial hooks line", "One line of `hooks.jsonl`: a hook command that ran."),
    "certificates": (tuple[Certificate, ...], "skilltrial certificates", "`certificates.json`: what the canaries came to."),
    "cleanup": (Leftovers, "skilltrial cleanup", "`cleanup.json`: what an experiment left, for `skilltrial cleanup`."),
    "compared": (Compared, "skilltrial comparison", "What `compare --format json` prints."),
    "history": (History, "skilltrial history", "What `history --format json` prints."),
    "portfolio": (Portfolio, "skilltrial portfolio", "What `list --portfolio --format json` prints."),
    "grading": (GradingFile, "skilltrial grading", "`grading.json` in a cell's folder."),
    "timing": (TimingFile, "skilltrial timing", "`timing.json` in a cell's folder."),
    "run_meta": (RunMetaFile, "skilltrial run", "`run_meta.json` in a cell's folder."),
    "judge": (tuple[JudgeCall, ...], "skilltrial judge calls", "`judge.json` in a cell's folder: questions and replies."),
    "pair": (PairFile, "skilltrial pair", "`pair-<baseline>.json` in a cell's folder: a judge's choice between two arms."),
    "event": (Event, "skilltrial event", "One line of `events.jsonl` in a cell's folder; unknown values are left out."),
    "state": (StateFile, "skilltrial repository state", "`pre_state.json` and `post_state.json` in a cell's folder."),
    "post_grade_hooks": (
        tuple[HookOfRun, ...],
        "skilltrial hooks of a run",
        "`outputs/post_grade_hooks.json` in a cell's folder.",
    ),
    "benchmark": (BenchmarkFile, "skilltrial benchmark", "`<skill>/benchmark.json`: the summary in the shape other tools read."),
    "news": (News, "skilltrial news", "One line of `progress.jsonl`: what happens while it runs."),
}


def schemas() -> dict[str, Schema]:
    """Every schema by name; the file is `schemas/<name>.schema.json`."""
    found = {name: _schema(of, title, text, "serialization") for name, (of, title, text) in _OURS.items()}
    about = "`skilltrial.yaml`, or the table [tool.skilltrial] of pyproject.toml."
    found["config"] = _schema(ConfigFile, "skilltrial settings", about, "validation")
    found["evals"] = {"$schema": DRAFT, **suite_schema()}
    return dict(sorted(found.items()))


def emit(name: str | None) -> str:
    """The schema called `name` as JSON text; without a name, the names there are, one a line.

    Raises:
        UsageError: there is no schema of that name.
    """
    if name is None:
        return "\n".join(schemas())
    known = schemas()
    wanted = name.removesuffix(".json").removesuffix(".schema")
    if wanted not in known:
        close = get_close_matches(wanted, known, 1)
        nearest = f"did you mean '{close[0]}'? " if close else ""
        raise UsageError(f"no schema called '{name}'", f"{nearest}there are: {', '.join(known)}")
    return as_text(known[wanted])


def as_text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False)


def _schema(of: Any, title: str, about: str, mode: Literal["validation", "serialization"]) -> Schema:
    made = TypeAdapter(of).json_schema(by_alias=True, mode=mode)
    definitions = made.pop("$defs", {})
    for name, definition in definitions.items():
        _describe(definition, name)
    if "properties" in made:
        _describe(made, of.__name__)
    if mode == "serialization":  # our own files gain keys within a version; readers must bear that
        _open([made, *definitions.values()])
    made |= {"title": title, "description": about}
    return {"$schema": DRAFT, **made, **({"$defs": definitions} if definitions else {})}


def _describe(schema: dict[str, Any], record: str) -> None:
    texts = _field_texts().get(record, {})
    for key, field in schema.get("properties", {}).items():
        field.pop("title", None)
        text = texts.get(key) or texts.get(f"{key}_") or texts.get(f"{key.removeprefix('$')}_")
        if text:
            field["description"] = text


def _open(schemas: list[dict[str, Any]]) -> None:
    for schema in schemas:
        if schema.get("additionalProperties") is False:
            del schema["additionalProperties"]


@cache
def _field_texts() -> dict[str, dict[str, str]]:
    """Class -> field -> the string that stands under it, over all files of this folder."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = dict(_under_fields(node.body))
    return found


def _under_fields(body: list[ast.stmt]) -> list[tuple[str, str]]:
    pairs = []
    for field, text in pairwise(body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str):
            pairs.append((field.target.id, cleandoc(text.value.value)))
    return pairs
