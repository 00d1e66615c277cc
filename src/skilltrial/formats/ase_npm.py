"""agent-skills-eval (npm): `[iteration-N/][<skill>/]eval-*/<mode>/`, with meta.json and benchmark.json beside the evals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.formats import _ase_npm_out, _disk
from skilltrial.formats._foreign import ForeignExperiment, experiment
from skilltrial.formats._found import RECORDED, Found, Row, Run, Task
from skilltrial.records.evidence import Event, Usage
from skilltrial.records.plan import Target
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out

_REPETITION = re.compile(r"(.+)--run-(\d{1,6})")
"""How our own exports spell repetitions, which the tool does not have."""
_NO_VERDICT = ("judge returned unparseable response", "judge omitted this assertion result")


class AseNpm:
    """Reads what agent-skills-eval 0.1 wrote, in all three layouts, and writes its iteration and flat ones."""

    name: ClassVar[str] = "ase-npm"

    @staticmethod
    def claims(folder: Path) -> bool:
        return any(True for _ in _skills(folder))

    @staticmethod
    def read(folder: Path) -> ForeignExperiment:
        found = Found(AseNpm.name, folder)
        for skill, meta in _skills(folder):
            _Skill(found, skill, meta).read()
        return experiment(found)

    def write(self, summary: Summary, experiment: ExperimentView, out: Out, *, flat: bool = False) -> None:
        """`flat`: one skill has a folder of its own too."""
        _ase_npm_out.write(summary, experiment, out, flat=flat)


plugin = AseNpm


def _skills(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each folder with the meta.json of one skill: the folder itself, or those in it."""
    own = _meta(folder)
    if own is not None:
        yield folder, own
        return
    for child in _disk.children(folder):
        if _disk.numbered(child.name, "iteration-") is None and not child.name.startswith("."):
            meta = _meta(child)
            if meta is not None:
                yield child, meta


def _meta(folder: Path) -> dict[str, Any] | None:
    meta = _disk.object_at(folder / "meta.json")
    return meta if isinstance(meta.get("modes"), list) and "target" in meta else None


class _Skill:
    def __init__(self, found: Found, folder: Path, meta: dict[str, Any]) -> None:
        self.found, self.folder, self.meta = found, folder, meta
        self.name = _disk.words(meta.get("name")) or folder.name
        self.modes = [mode for mode in meta["modes"] if mode in ("with_skill", "without_skill")]
        model = _disk.words(meta.get("target"))
        native = _disk.words(meta.get("runtime"))
        backend = {"claude": "claude-code", None: "openai", "provider": "openai"}.get(native, native or "openai")
        self.target = found.target(model or "target", backend, model, delivery="injected" if backend == "openai" else "installed")

    def read(self) -> None:
        found = self.found
        found.skill(self.name)
        found.created_at = max(found.created_at, _disk.words(self.meta.get("generated_at")) or "")
        judge = _disk.words(self.meta.get("judge"))
        if judge:
            found.judge = Target(name="judge", backend="openai", value=judge)
            found.home_field = found.home_field or judge == self.meta.get("target")
        evals = [child for child in _disk.children(self.folder) if any((child / mode).is_dir() for mode in self.modes)]
        for folder in evals:
            self._eval(folder)
        if not evals:
            found.unknown(f"{self.name}: no run folder is there; nothing can be recomputed from benchmark.json alone")

    def _eval(self, folder: Path) -> None:
        case, repetition = folder.name.removeprefix("eval-"), 1
        if repeated := _REPETITION.fullmatch(case):
            case, repetition = repeated[1], int(repeated[2])
        for mode in self.modes:
            leaf = folder / mode
            sent = _disk.object_at(leaf / "prompts.json")
            task = self.found.tasks.setdefault((self.name, case), Task(given_id=case, name=case))
            task.prompt = task.prompt or _disk.words(sent.get("user")) or ""
            task.forced = task.forced or sent.get("force_skill_invocation") is True
            run = Run(self.name, case, self.target, mode, repetition)
            if leaf.is_dir():
                self._fill(run, leaf, sent)
                self.found.add(run)
            else:
                run.outcome, run.reason = "harness_error", "the run has no folder: it ended before it could be graded"
                self.found.lost(run)
                self.found.unknown(f"{self.name}/{case}: no {mode} folder; the tool left it out of its means")

    def _fill(self, run: Run, leaf: Path, sent: dict[str, Any]) -> None:
        timing = _disk.object_at(leaf / "timing.json")
        text = _disk.text_at(leaf / "outputs" / "response.txt", leaf / "outputs" / "output.txt")
        tokens = _disk.count(timing.get("total_tokens")) or None  # the tool writes 0 for what a provider did not report
        milliseconds = _disk.number(timing.get("duration_ms"))
        run.text, run.usage = text or "", Usage(total_tokens=tokens)
        run.duration_s = None if milliseconds is None else milliseconds / 1000
        run.events = _events(leaf)
        run.sent = {key: sent[key] for key in ("system", "user", "tools", "tool_choice") if key in sent} or None
        judged = _disk.words(sent.get("judgePrompt"))
        if judged:
            run.calls = ({"prompt": judged, "reply": "", "reason": "the tool keeps no reply of the judge"},)
        if text is not None and text.startswith("ERROR: ") and tokens is None:
            run.outcome, run.reason = "infrastructure_error", text[:500]
            self.found.unknown(f"{run.place}: the answer is an outage ({text[:80].strip()}); the tool graded it as an answer")
            return
        if text is None:
            self.found.unknown("the answers are not in the tree, so an outage that was graded as an answer cannot be told apart")
        self._grade(run, leaf, (judged or "") if sent else None)

    def _grade(self, run: Run, leaf: Path, judged: str | None) -> None:
        grading = _disk.json_at(leaf / "grading.json")
        if not isinstance(grading, dict):
            return
        run.rows = [_row(row, judged) for row in _disk.rows(grading.get("assertion_results"))]
        where = run.place
        if not run.rows:
            self.found.unknown(f"{self.name}/{run.case}: no assertion, so nothing was graded; the tool stores 100 % for it")
        for row in run.rows:
            if row.state == "ungraded":
                self.found.unknown(f"{where}: the judge gave no verdict on '{row.text[:80]}'; the tool counts it as failed")
            elif row.state == "failed" and _same_but_for_order(row.reason or ""):
                self.found.unknown(
                    f"{where}: '{row.text[:80]}' failed only because version 0.1.1 compares arguments as text, key order included"
                )


def _row(row: dict[str, Any], judged: str | None) -> Row:
    """`judged`: the judge's prompt, in which a rubric sentence stands as JSON; rows that are not in it were checked by code."""
    text, reason = str(row.get("text", "")), _disk.words(row.get("evidence"))
    passed, weight = row.get("passed"), _disk.number(row.get("weight"))
    by_code = judged is not None and json.dumps(text, ensure_ascii=False) not in judged
    if not isinstance(passed, bool) or (not passed and (reason or "").startswith(_NO_VERDICT)):
        return Row(text, "ungraded", reason or "no verdict is stored")
    found = Row(text, "passed" if passed else "failed", reason, weight=1.0 if weight is None else weight)
    if by_code:
        found.method, found.type = "check", RECORDED
    return found


def _same_but_for_order(evidence: str) -> bool:
    match = re.fullmatch(r"expected (.+); observed (.+)", evidence, re.DOTALL)
    try:
        return match is not None and json.loads(match[1]) == json.loads(match[2])
    except ValueError:
        return False


def _events(leaf: Path) -> tuple[Event, ...] | None:
    """Tool calls; None where the run has none on record, which is not to say that it made none."""
    calls = _disk.rows(_disk.json_at(leaf / "tool_calls.json"))
    events = []
    for call in calls:
        function = call.get("function")
        if isinstance(function, dict):
            arguments = call.get("parsedArguments", function.get("arguments"))
            events.append(
                Event(kind="tool_call", name=str(function.get("name", "")), call=_disk.words(call.get("id")), arguments=arguments)
            )
    return tuple(events) or None
