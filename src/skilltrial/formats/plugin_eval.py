"""Claude Code's `claude plugin eval`: one aggregate-result.json with every run of both arms."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from skilltrial.formats import _disk
from skilltrial.formats._foreign import ForeignExperiment, experiment
from skilltrial.formats._found import RECORDED, Found, Group, Method, Row, Run, Task, outcome_of
from skilltrial.records.evidence import Usage

ARMS = {"with": "with_skill", "without": "without_skill"}
RESULT = "aggregate-result.json"


class PluginEval:
    """Reads the result of one suite: the folder that holds it, or the file itself."""

    name: ClassVar[str] = "plugin-eval"

    @staticmethod
    def claims(folder: Path) -> bool:
        return _told(folder) is not None

    @staticmethod
    def read(folder: Path) -> ForeignExperiment:
        found = Found(PluginEval.name, folder)
        _Suite(found, _told(folder) or {}).read()
        return experiment(found)


plugin = PluginEval


def _told(folder: Path) -> dict[str, Any] | None:
    path = folder if folder.suffix == ".json" else folder / RESULT
    told = _disk.object_at(path)
    return told if "schemaVersion" in told and isinstance(told.get("cases"), list) and "suite" in told else None


class _Suite:
    def __init__(self, found: Found, told: dict[str, Any]) -> None:
        self.found, self.told = found, told
        suite = told.get("suite")
        self.suite: dict[str, Any] = suite if isinstance(suite, dict) else {}
        plugins = _disk.rows(self.suite.get("plugins"))
        self.skill = (_disk.words(plugins[0].get("name")) if plugins else None) or "plugin"
        self.partial = told.get("partial") is True
        version = _disk.words(told.get("claudeVersion"))
        self.target = found.target("claude-code", "claude-code", delivery="installed", program_version=version)

    def read(self) -> None:
        found = self.found
        found.skill(self.skill)
        found.created_at = _disk.words(self.told.get("startedAt")) or ""
        for case in _disk.rows(self.told.get("cases")):
            self._case(case)
        if self.partial:
            found.stop_reason = f"the suite ended early: {self.told.get('partialReason') or 'no reason is stored'}"
            found.unknown(f"{found.stop_reason}; cases that it never came to are not in the file")
        found.unknown("durations are stored in whole seconds, and answers only in traces that are not part of the result")

    def _case(self, told: dict[str, Any]) -> None:
        case = str(told.get("name"))
        graders = {str(grader.get("name")): grader for grader in _disk.rows(told.get("graders"))}
        self.found.tasks[self.skill, case] = Task(
            given_id=case,
            prompt=str(told.get("promptMarkdown") or ""),
            checks=[_row(name, grader, None) for name, grader in graders.items()],
        )
        arms = told.get("arms")
        by_arm = {arm: _disk.rows(arms.get(arm)) if isinstance(arms, dict) else [] for arm in ARMS}
        asked = list(ARMS) if self.suite.get("ablation") == "with-without" else ["with"]
        runs = max(len(some) for some in by_arm.values())
        if self.partial:
            runs = max(runs, _disk.count(told.get("runsPerCase")) or 1)
        for arm in ARMS:
            if by_arm[arm] or arm in asked:
                self.found.plan_for(Group(self.skill, case, self.target, ARMS[arm]), runs)
            for number, run in enumerate(by_arm[arm], 1):
                self._run(Run(self.skill, case, self.target, ARMS[arm], number), run, graders)

    def _run(self, run: Run, told: dict[str, Any], graders: dict[str, Any]) -> None:
        cost, judge_cost = _disk.number(told.get("costUsd")), _disk.number(told.get("judgeCostUsd"))
        run.duration_s, run.turns = _disk.number(told.get("durationSeconds")), _disk.count(told.get("turns"))
        run.started_at = _disk.words(told.get("startedAt")) or ""
        run.usage = Usage(cost_usd=cost, cost_source="cli" if cost is not None else None)
        error = told.get("error")
        if error is not None:
            run.outcome, run.reason, run.duration_s = outcome_of(str(error)), str(error), None
            self.found.unknown(f"{run.place}: the run ended in an error; the tool counts it as score 0")
            return self.found.add(run)
        given = {str(row.get("name")): row for row in _disk.rows(told.get("graders"))}
        run.rows = [
            _row(name, graders.get(name, {}), given.get(name))
            for name in dict.fromkeys([*graders, *given])
            if name in given or not _with_only(graders[name]) or run.arm == ARMS["with"]
        ]
        for row in run.rows:
            row.unasked = row.state == "ungraded" and told.get("skippedPaidGraders") is True
        votes = sum(len(row.get("judgeVotes") or ()) for row in given.values())
        run.calls = ({"prompt": "", "reply": "", "reason": "the tool keeps votes only"},) * votes
        if votes:
            run.judge_usage = Usage(cost_usd=judge_cost)
        return self.found.add(run)


def _with_only(grader: dict[str, Any]) -> bool:
    config = grader.get("config")
    config = config if isinstance(config, dict) else {}
    arm = config.get("arm")
    return arm == "with-only" or (arm is None and grader.get("type") == "tool_used" and config.get("tool") == "Skill")


def _row(name: str, grader: dict[str, Any], told: dict[str, Any] | None) -> Row:
    """`told` None: the run has no verdict of this grader."""
    kind = str(grader.get("type"))
    config = grader.get("config")
    config = config if isinstance(config, dict) else {}
    method: Method = "judge" if kind == "llm" else "check"
    with_only = bool(told.get("withOnly")) if told else _with_only(grader)
    scored = told.get("scored") is not False if told else not with_only
    weight = _disk.number(grader.get("weight", (told or {}).get("weight")))
    row = Row(
        _disk.words(grader.get("graderMarkdown")) or _title(name, kind, config),
        "ungraded",
        "the run has no verdict of this grader",
        method,
        "rubric" if kind == "llm" else RECORDED,
        id=name,
        scored=scored,
        weight=1.0 if weight is None else weight,
        arms=("with_skill",) if with_only else None,
    )
    passed = told.get("passed") if told else None
    if isinstance(passed, bool):
        row.state = "passed" if passed else "failed"
        row.reason = _disk.words((told or {}).get("explanation"))
        votes = (told or {}).get("judgeVotes")
        row.votes = tuple("passed" if vote else "failed" for vote in votes) if isinstance(votes, list) else ()
    return row


def _title(name: str, kind: str, config: dict[str, Any]) -> str:
    aim = config.get("pattern") or config.get("path") or config.get("tool") or config.get("criteria")
    return f"{name}: {kind.replace('_', ' ')}" + (f" {aim}" if aim else "")
