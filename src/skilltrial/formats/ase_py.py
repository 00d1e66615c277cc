"""agent-skill-eval (PyPI): `iteration-N/eval-<id>/<agent>/<configuration>/[run-K/]`, with evals_meta.json and summary.json."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.formats import _ase_py_out, _disk
from skilltrial.formats._foreign import ForeignExperiment, experiment
from skilltrial.formats._found import RECORDED, Found, Group, Method, Row, Run, Task, outcome_of
from skilltrial.records.checks import CHECKS
from skilltrial.records.evidence import GitDelta, Usage
from skilltrial.records.plan import Budgets, Target
from skilltrial.records.record import JsonObject
from skilltrial.records.suite import Tree
from skilltrial.records.summary import Summary
from skilltrial.seams import ExperimentView, Out

ARMS = {True: "with_skill", False: "without_skill"}
_METHODS: dict[str, Method] = {
    "deterministic": "check", "llm": "judge", "skipped": "judge", "hook": "hook", "budget": "budget",
    "side-effect-contract": "contract",
}  # fmt: skip
_OWN_FOLDER = re.compile(r"Workspace dirty: \?\? \.(?:claude|opencode|codex|fake|agents)/\s*")
_LIMITS = {
    "max_input_tokens": "input_tokens", "max_non_cached_input_tokens": "non_cached_input_tokens",
    "max_output_tokens": "output_tokens", "max_reasoning_tokens": "reasoning_tokens", "max_total_tokens": "total_tokens",
    "max_cost_usd": "cost_usd", "max_duration_seconds": "duration_s",
}  # fmt: skip


class AsePy:
    """Reads what agent-skill-eval 0.7 wrote, an archive of it too, and writes its tree."""

    name: ClassVar[str] = "ase-py"

    @staticmethod
    def claims(folder: Path) -> bool:
        if isinstance(_disk.object_at(folder / "evals_meta.json").get("evals"), list):
            return True
        return "runs_per_case" in _disk.object_at(folder / "summary.json") or any(True for _ in _leaves(folder))

    @staticmethod
    def read(folder: Path) -> ForeignExperiment:
        found = Found(AsePy.name, folder)
        _Iteration(found, folder).read()
        return experiment(found)

    def write(self, summary: Summary, experiment: ExperimentView, out: Out) -> None:
        _ase_py_out.write(summary, experiment, out)


plugin = AsePy


def _leaves(folder: Path) -> Iterator[Path]:
    """Folders of runs by what lies in them, however deep: ids with a slash nest."""
    for leaf in _disk.folders(folder, ("run_meta.json",)):
        inner = any(_disk.numbered(part, "iteration-") is not None for part in leaf.relative_to(folder).parts)
        told = _disk.object_at(leaf / "run_meta.json").keys()
        if not inner and {"eval_id", "agent"} <= told and "cell" not in told:  # with a cell it is ours
            yield leaf


class _Iteration:
    def __init__(self, found: Found, folder: Path) -> None:
        self.found, self.folder = found, folder
        self.meta, self.summary = _disk.object_at(folder / "evals_meta.json"), _disk.object_at(folder / "summary.json")
        self.leaves = [(leaf, _disk.object_at(leaf / "run_meta.json")) for leaf in _leaves(folder)]
        first = self.leaves[0][1] if self.leaves else {}
        self.skill = next(
            (name for told in (self.meta, self.summary, first) if (name := _disk.words(told.get("skill_name")))), "skill"
        )
        self.hash = next((key for told in (self.meta, self.summary, first) if (key := _disk.words(told.get("skill_hash")))), None)

    def read(self) -> None:
        found = self.found
        found.skill(self.skill, *((Tree(digest=f"sha256:{self.hash}"),) if self.hash else ()))
        found.created_at = self._began()
        grader = self.meta.get("grader")
        model = _disk.words(grader.get("model")) if isinstance(grader, dict) else None
        if model:
            found.judge = Target(name="judge", backend="openai", value=model)
        self._budgets()
        for one in _disk.rows(self.meta.get("evals")):
            found.tasks[self.skill, str(one.get("id"))] = _task(one)
        for leaf, meta in self.leaves:
            self._run(leaf, meta)
        self._plan()
        self._failures()

    def _began(self) -> str:
        """From the first line of progress.jsonl."""
        head = (_disk.text_at(self.folder / "progress.jsonl") or "").partition("\n")[0]
        match = re.search(r'"ts":\s*"([^"]+)"', head)
        try:
            return datetime.fromisoformat(match[1]).astimezone(UTC).isoformat() if match else ""
        except ValueError:
            return ""

    def _budgets(self) -> None:
        budget = self.summary.get("budget")
        if isinstance(budget, dict):
            limits = {ours: value for theirs, ours in _LIMITS.items() if (value := _disk.number(budget.get(theirs))) is not None}
            action = budget.get("action")
            self.found.budgets = Budgets(per_case=limits, action=action if action in ("warn", "fail", "stop-suite") else "fail")

    # ------------------------------------------------------------ what was planned
    def _plan(self) -> None:
        """Every case, agent and configuration that summary.json names, whether its runs are there or not."""
        agents = [str(agent) for agent in self.summary.get("agents") or ()]
        for agent in agents:
            self._target(agent, {})
        repetitions = _disk.count(self.summary.get("runs_per_case")) or 1
        sides = [True, False] if self.summary.get("with_baseline", True) else [True]
        told = _disk.object_at(self.folder / "benchmark.json").get("run_summary")
        for case in [str(case) for case in self.summary.get("eval_ids") or ()]:
            self.found.tasks.setdefault((self.skill, case), Task(given_id=case))
            for agent in agents:
                named = [side for side in sides if isinstance(told, dict) and f"{agent}_{ARMS[side]}" in told]
                for side in named or sides:
                    self.found.plan_for(Group(self.skill, case, self._target(agent, {}), ARMS[side]), repetitions)

    def _failures(self) -> None:
        """Runs without a folder: errors, those that a budget skipped, and those of which only numbers are left."""
        errors = {str(row.get("run")): str(row.get("error")) for row in _disk.rows(self.summary.get("errors"))}
        skipped = {str(row.get("run")): str(row.get("reason")) for row in _disk.rows(self.summary.get("skipped_runs"))}
        gone = 0
        for group, repetitions in list(self.found.planned.items()):
            for repetition in range(1, repetitions + 1):
                if (group, repetition) in self.found.runs:
                    continue
                side = "with" if group.arm == ARMS[True] else "without"
                label = f"{group.case}-{group.target}-{side}-r{repetition}"
                if label in errors:
                    self._lost(group, repetition, errors[label])
                elif label not in skipped and self.summary:
                    gone += 1
                    run = Run(*group, repetition, outcome="harness_error", reason="its folder is not in the tree")
                    self.found.lost(run)
        self._say(gone, errors, skipped)

    def _lost(self, group: Group, repetition: int, error: str) -> None:
        self.found.lost(Run(*group, repetition, outcome=outcome_of(error), reason=error))

    def _say(self, gone: int, errors: dict[str, str], skipped: dict[str, str]) -> None:
        if gone:
            rates = self.summary.get("pass_rates")
            known = {name: _disk.number(rate) for name, rate in rates.items()} if isinstance(rates, dict) else {}
            told = ", ".join(f"{name} {rate:.1%}" for name, rate in known.items() if rate is not None) or "none"
            self.found.unknown(
                f"{gone} runs that summary.json counts have no folder here; the tool's own pass rates ({told}) cannot be recomputed"
            )
        if errors:
            self.found.unknown(
                f"{len(errors)} runs ended in an error and were never measured; the tool shows a side without runs as 0 %"
            )
        if skipped:
            self.found.stop_reason = next(iter(skipped.values()))
            self.found.unknown(
                f"{len(skipped)} runs were skipped: {self.found.stop_reason}; the tool shows a side without runs as 0 %"
            )

    # ------------------------------------------------------------ a run
    def _target(self, agent: str, meta: dict[str, Any]) -> str:
        effort = _disk.words(meta.get("reasoning_effort"))
        options: JsonObject = {"reasoning_effort": effort} if effort else {}
        version, model = _disk.words(meta.get("agent_cli_version")), _disk.words(meta.get("model"))
        return self.found.target(agent, agent, model, delivery="installed", options=options, program_version=version)

    def _run(self, leaf: Path, meta: dict[str, Any]) -> None:
        case, agent = str(meta["eval_id"]), str(meta["agent"])
        task = self.found.tasks.setdefault((self.skill, case), Task())
        task.given_id = meta["eval_id"] if isinstance(meta["eval_id"], int | str) else case
        timing = _disk.object_at(leaf / "timing.json")
        run = Run(self.skill, case, self._target(agent, meta), ARMS[bool(meta.get("with_skill"))])
        run.repetition = _disk.count(meta.get("run_index")) or _disk.numbered(leaf.name, "run-") or 1
        run.model, run.version = _disk.words(meta.get("model")), _disk.words(meta.get("agent_cli_version"))
        run.text = _disk.text_at(leaf / "outputs" / "output.txt") or ""
        run.usage, milliseconds = _usage(timing), _disk.number(timing.get("duration_ms"))
        run.duration_s = None if milliseconds is None else milliseconds / 1000
        run.logs = {name: path for name in ("stdout.log", "stderr.log") if (path := leaf / "outputs" / name).is_file()}
        run.git = _git(leaf / "outputs")
        if not self._failed(run, timing):
            self._grade(run, leaf)
        self.found.add(run)

    def _failed(self, run: Run, timing: dict[str, Any]) -> bool:
        code = timing.get("exit_code")
        if timing.get("timed_out") is True:
            run.outcome, run.reason = "timeout", "the agent was stopped at its time limit"
        elif code not in (0, None):
            run.outcome, run.reason = "agent_error", f"the agent ended with exit code {code}"
        else:
            return False
        self.found.unknown(f"{run.place}: {run.reason}; the tool graded what was left, where absence checks pass by themselves")
        return True

    def _grade(self, run: Run, leaf: Path) -> None:
        grading = _disk.json_at(leaf / "grading.json")
        if not isinstance(grading, dict):
            self.found.unknown(f"{run.place}: no grading.json")
            return
        listed = {_text(one): one for one in self.found.tasks[self.skill, run.case].extra.get("assertions", ())}  # type: ignore[union-attr]
        run.rows = [_row(row, listed) for row in _disk.rows(grading.get("assertion_results"))]
        if not run.rows or all(row.state == "ungraded" for row in run.rows):
            self.found.unknown(f"{run.place}: every check was skipped, so nothing was graded; the tool stores 0 % for it")
        for row in run.rows:
            if row.state == "failed":
                self._doubt(run, row, leaf)

    def _doubt(self, run: Run, row: Row, leaf: Path) -> None:
        """Failures that the tool itself brings about."""
        if row.type == "git_clean" and _OWN_FOLDER.fullmatch(row.reason or ""):
            self.found.unknown(f"{run.place}: git_clean failed only because of the skill folder that the tool put there itself")
        if row.method == "contract" and (row.reason or "").startswith("worktree changes: "):
            before = set(_disk.object_at(leaf / "outputs" / "pre_state.json").get("changed_files") or ())
            if before and set((row.reason or "").removeprefix("worktree changes: ").split(", ")) <= before:
                self.found.unknown(f"{run.place}: the side-effect contract failed only on files that lay there before the run")


def _task(one: dict[str, Any]) -> Task:
    given = one.get("id")
    assertions = one.get("assertions")
    return Task(
        given_id=given if isinstance(given, int | str) else str(given),
        prompt=str(one.get("prompt") or ""),
        expected=_disk.words(one.get("expected_output")),
        should_trigger=one.get("should_trigger") is not False,
        forced=one.get("force_skill_invocation") is True,
        extra={"assertions": assertions} if isinstance(assertions, list) else {},
    )


def _text(assertion: Any) -> str:
    """How the tool names an assertion in its grading rows."""
    if not isinstance(assertion, dict):
        return str(assertion)
    if _disk.words(assertion.get("text")):
        return str(assertion["text"])
    parts = [
        f"{key}={assertion[key]!r}" for key in ("path", "contains", "command", "json_path") if assertion.get(key) is not None
    ]
    return f"{assertion.get('type')} ({', '.join(parts)})" if parts else str(assertion.get("type"))


def _row(row: dict[str, Any], listed: dict[str, Any]) -> Row:
    text, method, reason = str(row.get("text", "")), str(row.get("method", "")), _disk.words(row.get("evidence"))
    kind = method.removeprefix("structured:")
    how: Method = "check" if kind != method else _METHODS.get(method, "judge")
    made: dict[str, Any] = {"type": kind if kind in CHECKS else "rubric" if how == "judge" else RECORDED, "method": how}
    weight = _disk.number(row.get("weight"))
    made["weight"] = 1.0 if weight is None else weight
    given = listed.get(text)
    if kind in CHECKS and isinstance(given, dict):
        fields = CHECKS[kind].model_fields
        made["options"] = {key: value for key, value in given.items() if key in fields and value is not None}
    if row.get("skipped") is True or not isinstance(row.get("passed"), bool):
        return Row(text, "ungraded", reason, unasked=True, **made)
    return Row(text, "passed" if row["passed"] else "failed", reason, **made)


def _usage(timing: dict[str, Any]) -> Usage:
    """Ours count cache reads and writes as input. Zeros all over mean that nothing was reported, and no cached tokens without
    the share that was not cached that these were not.
    """
    fresh, cached = _disk.count(timing.get("non_cached_input_tokens")), _disk.count(timing.get("cached_tokens"))
    written = _disk.count(timing.get("cache_creation_tokens"))
    output = _disk.count(timing.get("output_tokens"))
    given = _disk.count(timing.get("input_tokens")) if fresh is None else fresh + (cached or 0) + (written or 0)
    cost, source = _disk.number(timing.get("cost_usd")), _disk.words(timing.get("cost_usd_source"))
    if not given and not output:
        given = cached = output = None
    if fresh is None and not cached:
        cached = None
    return Usage(
        input_tokens=given,
        cached_tokens=cached,
        output_tokens=output,
        reasoning_tokens=_disk.count(timing.get("reasoning_output_tokens")),
        cost_usd=cost,
        cost_source=source,
    )


def _git(outputs: Path) -> GitDelta | None:
    before, after = _disk.object_at(outputs / "pre_state.json"), _disk.object_at(outputs / "post_state.json")
    if not before or not after:
        return None

    def new(key: str) -> tuple[str, ...]:
        old = before.get(key)
        now = after.get(key)
        known = old if isinstance(old, list) else []
        return tuple(str(item) for item in now if item not in known) if isinstance(now, list) else ()

    return GitDelta(
        branches=new("local_branches"),
        commits=new("commit_shas"),
        head=_disk.words(after.get("head_sha")),
        status=new("status_porcelain"),
    )
